import type { ContextTokens } from './context-tokens.js'
import type { NativeContextInfo } from './native/surface.js'
import { policyOf } from './policies.js'

type HistoryInfo = Pick<
  NativeContextInfo,
  | 'reason'
  | 'recurrent'
  | 'select'
  | 'schedule'
  | 'chunk'
  | 'local'
  | 'heavy'
  | 'heavyGrows'
  | 'nCallMax'
  | 'nUbatch'
>

const settingsBytes = 128

/**
 * What a context holds, and how much of it a prompt that begins with the same tokens need not read again.
 *
 * Only what would be the same bits is offered: a prompt gives the same whether its beginning was there or not. With
 * select 'query' that is every whole chunk of sparse calls that began at position 0, because nothing is handed from
 * chunk to chunk. With 'votes' a cut loses what the method remembers, so nothing is offered. A dense context offers
 * whole calls.
 */
export class History {
  /** Whole chunks that follow each other from 0 on end here. */
  #end = 0
  readonly #unit: number
  readonly #chunk: number
  readonly #isSparse: boolean
  /** What is behind can be forgotten. */
  readonly #goesBack: boolean
  /** Whether calls are cut so that the last one is sparse, too. */
  readonly #isBalanced: boolean

  /** What the bits of a prefill depend on, besides the model and the types of the cache. */
  readonly #settings: string

  /**
   * @param isAlone its prompts come in whole calls, and not in parts of a pass each
   * @param tokens of the context: it keeps them, this says how many count
   */
  constructor(
    info: HistoryInfo,
    isAlone: boolean,
    { flashAttn, upstreamProducts }: { flashAttn: string; upstreamProducts: boolean },
    readonly tokens: ContextTokens,
  ) {
    this.#isSparse = info.reason === null
    const { nCallMax, nUbatch } = info
    this.#goesBack = !info.recurrent
    this.#chunk = info.chunk
    this.#isBalanced = nCallMax >= 3 * info.chunk
    const calls = nCallMax - (nCallMax % info.chunk)
    this.#unit = !this.#isSparse
      ? isAlone || nCallMax % nUbatch > 0
        ? nCallMax
        : nUbatch // so every pass begins at a multiple of it
      : policyOf(info.select).hasMemory
        ? Number.POSITIVE_INFINITY
        : this.#isBalanced
          ? info.chunk
          : calls
    const { local, heavy, heavyGrows, select, schedule } = info
    this.#settings = JSON.stringify([
      flashAttn,
      upstreamProducts,
      this.#unit,
      this.#isSparse && [this.#chunk, this.#isBalanced, local, heavy, heavyGrows, select, schedule],
    ])
  }

  /** Positions below are as a prefill from 0 on leaves them. */
  get #exact(): number {
    return this.#end - (this.#end % this.#unit)
  }

  /** What restore() takes: the settings, and the tokens that can be offered. */
  save(): Uint8Array {
    const settings = Buffer.from(this.#settings.padEnd(settingsBytes))
    const tokens = this.tokens.first(this.#exact)
    return Buffer.concat([settings, new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength)])
  }

  /** In a context that holds what it held at save(), `position` tokens. Of other settings nothing is taken over. */
  restore(saved: Uint8Array, position: number): void {
    const settings = Buffer.from(saved.subarray(0, settingsBytes)).toString('utf8').trimEnd()
    const exact = Math.floor((saved.length - settingsBytes) / 4)
    if (settings !== this.#settings || exact > position) return
    this.tokens.add(new Int32Array(saved.slice(settingsBytes, settingsBytes + 4 * exact).buffer), 0)
    this.#end = exact
  }

  /** A call that has ended put `n` tokens at `pos`. */
  add(n: number, pos: number, path: string): void {
    if (pos !== this.#end || path !== (this.#isSparse ? 'h2o' : 'dense')) return
    this.#end += n - (n % (this.#isSparse ? this.#chunk : this.#unit))
  }

  /** Everything from `at` on is forgotten. */
  cut(at: number): void {
    if (at < this.#end) this.#end = at - (at % this.#unit)
  }

  /**
   * Tokens at the beginning of `prompt` that need not be read again, so that the rest goes the way it would have gone.
   * Its last `denseTail` tokens are always read.
   *
   * @param position that the context is at
   */
  reusable(prompt: Int32Array, denseTail: number, position: number): number {
    return this.reusableOf(this.held(position), prompt, denseTail)
  }

  /** The tokens that can be offered. */
  held(position: number): Int32Array {
    return this.tokens.first(this.#goesBack || position === this.#exact ? this.#exact : 0)
  }

  /** What reusable() would be in this context if it held what held() gave once, of it or of one that is alike. */
  reusableOf(held: Int32Array, prompt: Int32Array, denseTail: number): number {
    const tail = this.#isSparse ? Math.min(denseTail, prompt.length) : 0
    const body = prompt.length - tail
    if (this.#isSparse && body <= this.#chunk) return 0 // dense as a whole
    const most = Math.min(body, held.length)
    let same = 0
    while (same < most && prompt[same] === held[same]) same++
    same -= same % this.#unit
    while (same > 0 && !this.#leavesRest(body - same, tail)) same -= this.#unit
    return this.#goesBack || same === held.length ? Math.max(same, 0) : 0
  }

  /** Whether `rest` tokens before the tail go as they would have gone: a rest of a chunk alone would be dense. */
  #leavesRest(rest: number, tail: number): boolean {
    if (rest === 0) return tail > 0
    return !this.#isSparse || !this.#isBalanced || rest > this.#chunk
  }
}
