// What ends a command early: Ctrl-C, SIGTERM, and a reader of stdout who has had enough.
import { ExitCode } from './exit-codes.js'
import { abortOnSignal } from './interrupt.js'
import type { CliIo } from './io.js'
import { Output } from './output.js'

/**
 * Runs `work` under a signal that both abort. Then 130 after `report`, or 0 if the reader left; else what `work` says.
 */
export async function abortable(
  io: CliIo,
  work: (output: Output, signal: AbortSignal) => Promise<number>,
  report: () => void = () => io.stderr.write('interrupted\n'),
): Promise<number> {
  const { controller, release } = abortOnSignal()
  const output = new Output(io.stdout, () => controller.abort())
  try {
    return await work(output, controller.signal)
  } catch (error) {
    if (!controller.signal.aborted) throw error
    if (output.closed) return ExitCode.ok
    report()
    return ExitCode.interrupted
  } finally {
    release()
  }
}
