// Ctrl-C: the first one aborts and lets the command end in order, the second one kills the process.

export class Interrupt extends Error {
  readonly code = 'ERR_H2O_INTERRUPTED'
  constructor() {
    super('interrupted')
    this.name = 'Interrupt'
  }
}

export interface Interruptible {
  controller: AbortController
  /** Takes the handler away; a later SIGINT has its default effect. */
  release(): void
}

export function abortOnSigint(): Interruptible {
  const controller = new AbortController()
  let seen = false
  const release = () => void process.removeListener('SIGINT', onSigint)
  const onSigint = () => {
    if (seen) {
      release()
      process.kill(process.pid, 'SIGINT')
      return
    }
    seen = true
    controller.abort(new Interrupt())
    // With no listener left the second one has its default effect. Not yet: where the main thread was busy, the second
    // one is told right behind the first, and with no listener it would be lost
    setImmediate(release)
  }
  process.on('SIGINT', onSigint)
  return { controller, release }
}
