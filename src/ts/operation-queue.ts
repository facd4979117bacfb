/** A queue for something that serves operations in the order of asking, small ones first: one alone, or several at once. */

/** `beside`: others of the kind may run meanwhile. */
export type TurnKind = 'alone' | 'beside'

interface Waiting {
  kind: TurnKind
  size: number
  start(): void
  cancel(reason: unknown): void
}

export class OperationQueue {
  #waiting: Waiting[] = []
  #running = 0
  #isAlone = false
  #closed: { reason: unknown } | undefined

  /** @param most that run beside each other */
  constructor(readonly most = 1) {}

  /**
   * Resolves when it is the caller's turn, with the function that ends it. An abort gives up the place in the queue.
   *
   * @param size of any unit: what is smaller goes first
   */
  take(signal?: AbortSignal, kind: TurnKind = 'alone', size = 0): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(this.#closed.reason)
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        reject(signal?.reason)
        this.#next() // those behind it may be of the kind that runs
      }
      const waiting: Waiting = {
        kind,
        size,
        start: () => {
          signal?.removeEventListener('abort', onAbort)
          resolve(this.#ending())
        },
        cancel: (reason) => {
          signal?.removeEventListener('abort', onAbort)
          reject(reason)
        },
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      const larger = this.#waiting.findIndex((other) => other.size > size)
      this.#waiting.splice(larger < 0 ? this.#waiting.length : larger, 0, waiting)
      this.#next()
    })
  }

  /** Rejects everyone who waits or asks later. The turn that runs goes on. */
  close(reason: unknown): void {
    this.#closed = { reason }
    const waiting = this.#waiting
    this.#waiting = []
    for (const one of waiting) one.cancel(reason)
  }

  #next(): void {
    for (let next = this.#waiting[0]; next && this.#mayRun(next.kind); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#running++
      this.#isAlone = next.kind === 'alone'
      next.start()
    }
  }

  #mayRun(kind: TurnKind): boolean {
    return kind === 'alone' ? this.#running === 0 : !this.#isAlone && this.#running < this.most
  }

  #ending(): () => void {
    let ended = false
    return () => {
      if (ended) return
      ended = true
      this.#running--
      this.#isAlone = false
      this.#next()
    }
  }
}
