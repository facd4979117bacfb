/** A queue for something that serves one operation at a time, in the order of asking. */

interface Waiting {
  start(): void
  cancel(reason: unknown): void
}

export class OperationQueue {
  #waiting: Waiting[] = []
  #taken = false
  #closed: { reason: unknown } | undefined

  /**
   * Resolves when it is the caller's turn, with the function that ends it. An abort gives up the place in the queue.
   */
  take(signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(this.#closed.reason)
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        reject(signal?.reason)
      }
      const waiting: Waiting = {
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
      this.#waiting.push(waiting)
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
    if (this.#taken) return
    const next = this.#waiting.shift()
    if (!next) return
    this.#taken = true
    next.start()
  }

  #ending(): () => void {
    let ended = false
    return () => {
      if (ended) return
      ended = true
      this.#taken = false
      this.#next()
    }
  }
}
