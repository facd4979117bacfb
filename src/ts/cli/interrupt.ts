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
  // `once`: with no listener left, Node gives the second SIGINT its default effect
  const onSigint = () => controller.abort(new Interrupt())
  process.once('SIGINT', onSigint)
  return { controller, release: () => process.removeListener('SIGINT', onSigint) }
}
