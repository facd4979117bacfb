// Ctrl-C and SIGTERM: the first one aborts and lets the command end in order, the second one kills the process.

const names = ['SIGINT', 'SIGTERM'] as const

/** npx and npm pass on the Ctrl-C that a terminal sends to the command as well: one press comes twice. */
const echoMs = process.env.npm_command === undefined ? 0 : 250

export class Interrupt extends Error {
  readonly code = 'ERR_H2O_INTERRUPTED'
  constructor() {
    super('interrupted')
    this.name = 'Interrupt'
  }
}

export interface Interruptible {
  controller: AbortController
  /** Takes the handlers away; a later signal has its default effect. */
  release(): void
}

export function abortOnSignal(): Interruptible {
  const controller = new AbortController()
  let seenAt: number | undefined
  const release = () => {
    for (const name of names) process.removeListener(name, onSignal)
  }
  const onSignal = (name: NodeJS.Signals) => {
    if (seenAt !== undefined) {
      if (name === 'SIGINT' && performance.now() - seenAt < echoMs) return
      release()
      process.kill(process.pid, name)
      return
    }
    controller.abort(new Interrupt())
    seenAt = performance.now()
    // With no listener left the second one has its default effect, even where the main thread hangs. Not at once: what
    // has come and was not told yet is lost with its listener
    setTimeout(release, 500).unref()
  }
  for (const name of names) process.on(name, onSignal)
  return { controller, release }
}
