// stdout as a command uses it: writes wait for a slow reader, and a reader that left is no error.
import { ExitCode } from './exit-codes.js'
import type { CliIo, OutputStream } from './io.js'

export class Output {
  readonly #stream: OutputStream
  readonly #onClosed: () => void
  #closed = false
  #error: Error | undefined
  /** the last character written, so that a terminal's cursor can be put at the start of a line */
  last = '\n'

  constructor(stream: OutputStream, onClosed: () => void) {
    this.#stream = stream
    this.#onClosed = onClosed
    stream.on?.('error', (error) => this.#fail(error))
  }

  /** The reader closed the pipe (EPIPE): nothing that is written arrives any more. */
  get closed(): boolean {
    return this.#closed
  }

  async write(text: string): Promise<void> {
    if (text === '' || this.#closed) return
    this.last = text.slice(-1)
    await new Promise<void>((resolve) => {
      this.#stream.write(text, (error) => {
        if (error) this.#fail(error)
        resolve()
      })
    })
    if (this.#error) throw this.#error
  }

  #fail(error: NodeJS.ErrnoException): void {
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') {
      this.#error ??= error
      return
    }
    if (this.#closed) return
    this.#closed = true
    this.#onClosed()
  }
}

/** All that --help and --version do. */
export async function answer({ stdout }: Pick<CliIo, 'stdout'>, text: string): Promise<number> {
  await new Output(stdout, () => {}).write(text)
  return ExitCode.ok
}
