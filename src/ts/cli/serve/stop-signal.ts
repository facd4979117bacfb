// SIGTERM and Ctrl-C: the first one lets the server end in order, the second one kills the process.
import { Interrupt } from '../shell/interrupt.js'

const names = ['SIGTERM', 'SIGINT'] as const

export interface StopSignal {
  /** Aborts with the first one. */
  readonly signal: AbortSignal
  release(): void
}

export function stopSignal(): StopSignal {
  const controller = new AbortController()
  const release = () => {
    for (const name of names) process.removeListener(name, onSignal)
  }
  const onSignal = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) return controller.abort(new Interrupt())
    release()
    process.kill(process.pid, name)
  }
  for (const name of names) process.on(name, onSignal)
  return { signal: controller.signal, release }
}
