/**
 * Progress of a prefill: exact between calls, an estimate within one.
 *
 * The native side counts the graph nodes that the CPU has computed; they are read now and then, so that no callback
 * crosses from a computing thread.
 */

import { Listener } from './listener.js'
import type { Call, PrefillProgress } from './types.js'

const intervalMs = 100

export interface ProgressFollower {
  /** A call of n tokens begins. */
  started(n: number): void
  /** It has ended; `done` tokens of the prompt are in the context. */
  ended(done: number, call: Call): void
  /** What the listener threw, if it did: the prefill ends with it. */
  failure(): unknown
  stop(): void
}

const nobody: ProgressFollower = {
  started: () => {},
  ended: () => {},
  failure: () => undefined,
  stop: () => {},
}

export function followProgress(
  work: { progress(): number; abort(): void },
  total: number,
  listener: ((progress: PrefillProgress) => void) | undefined,
): ProgressFollower {
  if (!listener) return nobody
  const told = new Listener(listener, () => work.abort())
  let base = 0
  let size = 0
  let reported = 0

  const report = (done: number, call: Call | null) => {
    reported = done
    told.tell({ done, total, call })
  }

  const timer = setInterval(() => {
    // the estimate may be off: never back, never to the end of the call
    const done = base + Math.floor(work.progress() * 0.99 * size)
    if (done > reported) report(done, null)
  }, intervalMs)

  return {
    started(n) {
      size = n
    },
    ended(done, call) {
      base = done
      size = 0
      report(done, call)
      if (told.thrown !== undefined) throw told.thrown
    },
    failure: () => told.thrown,
    stop: () => clearInterval(timer),
  }
}
