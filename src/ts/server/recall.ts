/**
 * What was read is not read again. What a slot holds is saved to memory (--cache-ram) before another conversation takes
 * the slot, and is loaded again where that beats reading. What another slot holds now, busy or not, is copied. All of it
 * is exact: an answer is that of a fresh context.
 */

import { handleOf, type Sequence } from '../sequence.js'
import type { PrefillResult } from '../types.js'
import type { ServedPrompt } from './prompt.js'
import { recentMean } from './recent-mean.js'
import { type SavedState, StateCache } from './state-cache.js'

/** A slot that has just been given to a request. */
export interface Recalling {
  slot: Sequence
  /** Who asks now. */
  owner: unknown
  /** Whose prompts the slot holds. */
  heldBy: unknown
  /** Other slots that hold prompts of the owner. */
  others: readonly Sequence[]
  /** Whether one of these still does. */
  isStillOf(other: Sequence): boolean
  /** What another owner left is gone: from now on the slot is of who asks. */
  cleared(): void
}

/** Where a state can be had that a prompt begins as, and how much of the prompt that is. */
interface Source {
  tokens: number
  /** undefined where it is gone by now, or not worth that so many bytes are moved. */
  take(isWorth: (bytes: number) => boolean): Promise<Uint8Array | undefined>
  /** The slot holds it now. */
  restored(): void
}

export class Recall {
  readonly cache: StateCache
  saved = 0
  loaded = 0
  /** Tokens that were copied from other slots. */
  copied = 0
  /** What a byte took that was saved or loaded, and a token that was read; undefined until there was one. */
  #msPerByte: number | undefined
  #msPerToken: number | undefined

  /** @param limitBytes of memory for states; 0: none is saved */
  constructor(
    limitBytes: number,
    readonly onFailure: (error: unknown) => void,
  ) {
    this.cache = new StateCache(limitBytes)
  }

  /**
   * Makes the slot as ready for the prompt as it can be without reading. What is in it afterwards is of the owner
   * who asks, or nothing.
   *
   * @param reuse false: the prompt is read as a whole, whatever there is of it
   */
  async prepare(recalling: Recalling, { tokens, denseTail }: ServedPrompt, reuse = true): Promise<void> {
    const { slot, owner, heldBy } = recalling
    const handle = slot[handleOf]()
    const isOwn = heldBy === owner
    const kept = isOwn && reuse ? slot.reusable(tokens, denseTail) : 0
    const offers = (held: Int32Array) => handle.history.reusableOf(held, tokens, denseTail)
    const found = reuse ? this.#best(recalling, offers, kept) : undefined
    const isWorth = (bytes: number) => this.#beatsReading(bytes, (found?.tokens ?? 0) - kept)
    const state = await found?.take(isWorth).catch((error) => this.onFailure(error)) // before another one needs its room
    await this.#save(slot, heldBy, state ? 0 : kept)
    if (!isOwn) {
      await slot.clear()
      recalling.cleared()
    }
    if (!state) return
    try {
      const began = performance.now()
      await handle.operate(undefined, () => handle.restore(state))
      this.#moved(state, performance.now() - began)
      found?.restored()
    } catch (error) {
      this.onFailure(error) // it is read
      await slot.clear()
    }
  }

  /** The state that offers a prompt most, if that is more than `kept` tokens. */
  #best(recalling: Recalling, offers: (held: Int32Array) => number, kept: number): Source | undefined {
    const sources: Source[] = recalling.others.map((other) => this.#inSlot(other, recalling, offers))
    const cached = this.cache.best(recalling.owner, offers)
    if (cached) sources.push(this.#inMemory(cached.saved, cached.tokens))
    return sources.filter(({ tokens }) => tokens > kept).sort((a, b) => b.tokens - a.tokens)[0]
  }

  #inMemory(saved: SavedState, tokens: number): Source {
    const take: Source['take'] = async (isWorth) => {
      if (!isWorth(saved.state.byteLength)) return undefined
      this.cache.take(saved)
      return saved.state
    }
    const restored = () => {
      this.loaded++
    }
    return { tokens, take, restored }
  }

  /** Between two native calls of a slot that is busy, and that may have changed hands by its turn. */
  #inSlot(slot: Sequence, recalling: Recalling, offers: (held: Int32Array) => number): Source {
    const handle = slot[handleOf]()
    const tokens = offers(handle.offered())
    const take: Source['take'] = async (isWorth) => {
      const began = performance.now()
      const isCopyWorth = (bytes: number) => isWorth(2 * bytes) // it is saved and loaded
      const state = await handle.saveIf(isCopyWorth, recalling.slot[handleOf]().sequence)
      if (!state) return undefined
      this.#moved(state, performance.now() - began)
      return recalling.isStillOf(slot) && offers(handle.offered()) >= tokens ? state : undefined
    }
    const restored = () => {
      this.copied += tokens
    }
    return { tokens, take, restored }
  }

  /** What a prompt took to read: loading has to beat it. */
  readIn({ tokens, timings }: PrefillResult): void {
    this.#msPerToken = recentMean(this.#msPerToken, timings.promptMs / tokens)
  }

  /** If more than `kept` tokens of what the slot holds are worth it: a chat's next turn leaves two chunks itself. */
  async #save(slot: Sequence, owner: unknown, kept: number): Promise<void> {
    const handle = slot[handleOf]()
    const held = handle.held()
    if (this.cache.limitBytes === 0 || this.cache.covers(owner, held)) return
    if (held.length - kept <= 2 * slot.h2o.chunk) return
    try {
      const began = performance.now()
      const saved = await this.cache.keep(async (hasRoomFor) => {
        const isWanted = (bytes: number) => hasRoomFor(bytes + held.byteLength)
        const state = await handle.operate(undefined, () => handle.saveIf(isWanted))
        return state && { tokens: held, owner, state }
      })
      if (!saved) return
      this.#moved(saved.state, performance.now() - began)
      this.saved++
    } catch (error) {
      this.onFailure(error) // it will be read again
    }
  }

  #beatsReading(bytes: number, tokens: number): boolean {
    if (this.#msPerByte === undefined || this.#msPerToken === undefined) return true
    return bytes * this.#msPerByte < tokens * this.#msPerToken
  }

  #moved({ byteLength }: Uint8Array, ms: number): void {
    this.#msPerByte = recentMean(this.#msPerByte, ms / byteLength)
  }
}
