// What the commands on one model share: how it is loaded, what is said meanwhile, and how all of it ends.
import type { H2oWarning, Model } from '../index.js'
import { type ModelFlags, modelOptions } from './flags/model-flags.js'
import { abortable } from './shell/abortable.js'
import type { CliIo } from './shell/io.js'
import { onceEach } from './shell/once-each.js'
import type { Output } from './shell/output.js'

type Api = Pick<typeof import('../index.js'), 'loadModel' | 'setLogLevel'>

interface Disposable {
  dispose(): Promise<void>
}

export class Session {
  readonly #kept: Disposable[] = []

  constructor(
    readonly io: CliIo,
    readonly output: Output,
    readonly signal: AbortSignal,
    readonly warn: (message: string) => void,
  ) {}

  readonly onWarning = ({ message }: H2oWarning) => this.warn(message)

  say(line: string): void {
    this.io.stderr.write(`${line}\n`)
  }

  async loadModel(api: Api, flags: ModelFlags & { model: string; verbose?: boolean }): Promise<Model> {
    const { onWarning, signal } = this
    if (flags.verbose) api.setLogLevel('info')
    return this.keep(await api.loadModel({ ...modelOptions(flags), onWarning, signal }))
  }

  /** Disposed at the end, the last one first. */
  keep<T extends Disposable>(one: T): T {
    this.#kept.push(one)
    return one
  }

  /** Disposes what is kept now. */
  async drop(one: Disposable): Promise<void> {
    this.#kept.splice(this.#kept.indexOf(one), 1)
    await one.dispose()
  }

  /** All of them; rejects afterwards with the first failure. */
  async dispose(): Promise<void> {
    const failures: unknown[] = []
    for (const one of this.#kept.reverse()) await one.dispose().catch((error) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }
}

/** A warning on stderr, each once. */
export const warner = (io: CliIo) =>
  onceEach((message) => io.stderr.write(`h2o-prefill: warning: ${message}\n`))

/** Gives what `work` says; 130 after `report` for an interrupt, and 0 if the reader left. */
export function inSession(
  io: CliIo,
  warn: (message: string) => void,
  work: (session: Session) => Promise<number>,
  report?: (session: Session) => void,
): Promise<number> {
  let session: Session | undefined
  return abortable(
    io,
    async (output, signal) => {
      session = new Session(io, output, signal, warn)
      try {
        return await work(session)
      } finally {
        await session.dispose()
      }
    },
    report && (() => session && report(session)),
  )
}
