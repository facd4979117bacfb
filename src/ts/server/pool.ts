/**
 * The contexts of the server: a bounded queue before them, and for each request the one that holds most of its prompt.
 */

import type { Context } from '../context.js'
import type { ServedPrompt } from './prompt.js'
import type { Recalling } from './recall.js'
import { recentMean } from './recent-mean.js'

/** There is no room for another request. */
export class QueueFull extends Error {
  constructor(readonly retryAfterSeconds: number) {
    super('the queue is full')
  }
}

/** A request's place: first in the queue, then with a context of its own. */
export interface Turn {
  /**
   * Waits for a context. An abort gives up the place and rejects with the signal's reason.
   *
   * @param reuse false: the one that was used least recently, whatever the others hold
   */
  context(prompt: ServedPrompt, signal: AbortSignal, reuse?: boolean): Promise<Recalling>
  /** Ends it, however far it came. */
  leave(): void
}

interface Waiting {
  prompt: ServedPrompt
  reuse: boolean
  owner: unknown
  start(taken: Recalling): void
}

export class ContextPool {
  /** The one that was used least recently is first. */
  #idle: Context[]
  #waiting: Waiting[] = []
  #admitted = 0
  /** Of turns: Retry-After is made of it. */
  #meanMs = 1000
  /** Who has read what a context holds. */
  readonly #owners = new WeakMap<Context, unknown>()
  /** Requests with a context and without one. */
  readonly most: number

  /** @param queue how many requests may wait beside those that are served */
  constructor(
    readonly contexts: readonly Context[],
    queue: number,
  ) {
    this.#idle = [...contexts]
    this.most = contexts.length + queue
  }

  get size(): number {
    return this.contexts.length
  }

  isBusy(context: Context): boolean {
    return !this.#idle.includes(context)
  }

  get isFull(): boolean {
    return this.#admitted >= this.most
  }

  /** Requests with a context. */
  get processing(): number {
    return this.size - this.#idle.length
  }

  /** Requests without one. */
  get deferred(): number {
    return this.#admitted - this.processing
  }

  /** @param owner shares what contexts hold with nobody else. Throws QueueFull. */
  enter(owner?: unknown): Turn {
    if (this.isFull) throw new QueueFull(this.#retryAfter())
    this.#admitted++
    let taken: { context: Context; since: number } | undefined
    let left = false
    return {
      context: async (prompt, signal, reuse = true) => {
        const given = await this.#take({ prompt, reuse, owner }, signal)
        taken = { context: given.context, since: performance.now() }
        return given
      },
      leave: () => {
        if (left) return
        left = true
        this.#admitted--
        if (!taken) return
        this.#meanMs = recentMean(this.#meanMs, performance.now() - taken.since)
        this.#idle.push(taken.context)
        this.#next()
      },
    }
  }

  #take(asked: Omit<Waiting, 'start'>, signal: AbortSignal): Promise<Recalling> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        reject(signal.reason)
      }
      const waiting: Waiting = {
        ...asked,
        start: (given) => {
          signal.removeEventListener('abort', onAbort)
          resolve(given)
        },
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(waiting)
      this.#next()
    })
  }

  #next(): void {
    if (this.#idle.length === 0) return
    const first = this.#waiting.shift()
    if (!first) return
    const { reuse, owner } = first
    const { tokens, denseTail } = first.prompt
    const mayReuse = (context: Context) => reuse && this.#owners.get(context) === owner
    const held = this.#idle.map((context) => (mayReuse(context) ? context.reusable(tokens, denseTail) : 0))
    const [context] = this.#idle.splice(held.indexOf(Math.max(...held)), 1) as [Context]
    const heldBy = this.#owners.get(context)
    this.#owners.set(context, owner)
    first.start({ context, owner, heldBy })
  }

  #retryAfter(): number {
    const seconds = (this.#meanMs * this.#admitted) / this.size / 1000
    return Math.min(Math.max(Math.ceil(seconds), 1), 600)
  }
}
