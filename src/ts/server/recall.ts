/**
 * What was read is kept (--cache-ram): what a context holds is saved to memory before another conversation takes the
 * context, and is loaded again where that beats reading. Both are exact: an answer is that of a fresh context.
 */

import type { Context } from '../context.js'
import { handleOf } from '../sequence.js'
import type { PrefillResult } from '../types.js'
import type { ServedPrompt } from './prompt.js'
import { recentMean } from './recent-mean.js'
import { StateCache } from './state-cache.js'

/** A context that has just been given to a request. */
export interface Recalling {
  context: Context
  /** Who asks now. */
  owner: unknown
  /** Whose prompts the context holds. */
  heldBy: unknown
}

export class Recall {
  readonly cache: StateCache
  saved = 0
  loaded = 0
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
   * Makes the context as ready for the prompt as it can be without reading. What is in it afterwards is of the owner
   * who asks, or nothing.
   *
   * @param reuse false: the prompt is read as a whole, whatever there is of it
   */
  async prepare(
    { context, owner, heldBy }: Recalling,
    { tokens, denseTail }: ServedPrompt,
    reuse = true,
  ): Promise<void> {
    const handle = context[handleOf]()
    const isOwn = heldBy === owner
    const kept = isOwn && reuse ? context.reusable(tokens, denseTail) : 0
    const best = reuse && this.cache.best(owner, (held) => handle.history.reusableOf(held, tokens, denseTail))
    const found = best && this.#beatsReading(best.saved.state, best.tokens - kept) ? best.saved : undefined
    if (found) this.cache.take(found) // before another state needs its room
    await this.#save(context, heldBy, found ? 0 : kept)
    if (!isOwn) await context.clear()
    if (!found) return
    try {
      const began = performance.now()
      await handle.operate(undefined, () => handle.restore(found.state))
      this.#moved(found.state, performance.now() - began)
      this.loaded++
    } catch (error) {
      this.onFailure(error) // it is read
      await context.clear()
    }
  }

  /** What a prompt took to read: loading has to beat it. */
  readIn({ tokens, timings }: PrefillResult): void {
    this.#msPerToken = recentMean(this.#msPerToken, timings.promptMs / tokens)
  }

  /** If more than `kept` tokens of what the context holds are worth it: a chat's next turn leaves two chunks itself. */
  async #save(context: Context, owner: unknown, kept: number): Promise<void> {
    const held = context[handleOf]().history.held()
    if (held.length - kept <= 2 * context.h2o.chunk || this.cache.covers(owner, held)) return
    const expected = (context.memory.kvBytes / context.nCtx) * context.position
    const release = this.cache.reserve(expected)
    if (!release) return
    try {
      const began = performance.now()
      const state = await context.saveState()
      this.#moved(state, performance.now() - began)
      release()
      this.cache.put({ tokens: held, owner, state })
      this.saved++
    } catch (error) {
      this.onFailure(error) // it will be read again
    } finally {
      release()
    }
  }

  #beatsReading({ byteLength }: Uint8Array, tokens: number): boolean {
    if (tokens <= 0) return false
    if (this.#msPerByte === undefined || this.#msPerToken === undefined) return true
    return byteLength * this.#msPerByte < tokens * this.#msPerToken
  }

  #moved({ byteLength }: Uint8Array, ms: number): void {
    this.#msPerByte = recentMean(this.#msPerByte, ms / byteLength)
  }
}
