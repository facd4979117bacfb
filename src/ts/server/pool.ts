/**
 * The slots of the server, which are sequences of its context: a bounded queue before them, and for each request the one
 * that holds most of its prompt.
 */

import type { Context } from '../context.js'
import type { Sequence } from '../sequence.js'
import type { ServedPrompt } from './prompt.js'
import type { Recalling } from './recall.js'
import { recentMean } from './recent-mean.js'

/** There is no room for another request. */
export class QueueFull extends Error {
  constructor(readonly retryAfterSeconds: number) {
    super('the queue is full')
  }
}

/** Which slot a request gets. */
export interface Wanted {
  /** false: the one that was used least recently, whatever the others hold */
  reuse?: boolean | undefined
  /** This one alone; -1 is any. */
  id?: number | undefined
}

/** A request's place: first in the queue, then with a slot of its own. */
export interface Turn {
  /** Waits for a slot. An abort gives up the place and rejects with the signal's reason. */
  slot(prompt: ServedPrompt, signal: AbortSignal, wanted?: Wanted): Promise<Recalling>
  /** Ends it, however far it came. */
  leave(): void
}

interface Waiting {
  prompt: ServedPrompt
  reuse: boolean
  id: number
  owner: unknown
  start(taken: Recalling): void
}

/** A context of the server's own as slots. */
export function slotsOf(context: Context): [Sequence, ...Sequence[]] {
  return [context, ...Array.from({ length: context.parallel - 1 }, () => context.sequence())]
}

export class SlotPool {
  /** The one that was used least recently is first. */
  #idle: Sequence[]
  #waiting: Waiting[] = []
  #admitted = 0
  /** Of turns: Retry-After is made of it. */
  #meanMs = 1000
  /** Who has read what a slot holds. */
  readonly #owners = new WeakMap<Sequence, unknown>()
  /** Requests with a slot and without one. */
  readonly most: number

  /** @param queue how many requests may wait beside those that are served */
  constructor(
    readonly slots: readonly Sequence[],
    queue: number,
  ) {
    this.#idle = [...slots]
    this.most = slots.length + queue
  }

  get size(): number {
    return this.slots.length
  }

  isBusy(slot: Sequence): boolean {
    return !this.#idle.includes(slot)
  }

  get isFull(): boolean {
    return this.#admitted >= this.most
  }

  /** Requests with a slot. */
  get processing(): number {
    return this.size - this.#idle.length
  }

  /** Requests without one. */
  get deferred(): number {
    return this.#admitted - this.processing
  }

  /** @param owner shares what slots hold with nobody else. Throws QueueFull. */
  enter(owner?: unknown): Turn {
    if (this.isFull) throw new QueueFull(this.#retryAfter())
    this.#admitted++
    let taken: { slot: Sequence; since: number } | undefined
    let left = false
    return {
      slot: async (prompt, signal, { reuse = true, id = -1 } = {}) => {
        const given = await this.#take({ prompt, reuse, id, owner }, signal)
        taken = { slot: given.slot, since: performance.now() }
        return given
      },
      leave: () => {
        if (left) return
        left = true
        this.#admitted--
        if (!taken) return
        this.#meanMs = recentMean(this.#meanMs, performance.now() - taken.since)
        this.#idle.push(taken.slot)
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
    const first = this.#waiting.find((waiting) => this.#slotsFor(waiting).length > 0)
    if (!first) return
    this.#waiting = this.#waiting.filter((other) => other !== first)
    const { reuse, owner } = first
    const { tokens, denseTail } = first.prompt
    const mayReuse = (slot: Sequence) => reuse && this.#owners.get(slot) === owner
    const free = this.#slotsFor(first)
    const held = free.map((slot) => (mayReuse(slot) ? slot.reusable(tokens, denseTail) : 0))
    const slot = free[held.indexOf(Math.max(...held))] as Sequence
    this.#idle = this.#idle.filter((other) => other !== slot)
    const heldBy = this.#owners.get(slot)
    const isStillOf = (other: Sequence) => this.#owners.get(other) === owner
    const others = this.slots.filter((other) => other !== slot && isStillOf(other))
    if (heldBy !== owner) this.#owners.set(slot, Symbol('changes hands')) // nobody's until it is cleared
    first.start({ slot, owner, heldBy, others, isStillOf, cleared: () => this.#owners.set(slot, owner) })
  }

  /** Those that are free and would do. */
  #slotsFor({ id }: Waiting): Sequence[] {
    return this.#idle.filter((slot) => id < 0 || slot === this.slots[id])
  }

  #retryAfter(): number {
    const seconds = (this.#meanMs * this.#admitted) / this.size / 1000
    return Math.min(Math.max(Math.ceil(seconds), 1), 600)
  }
}
