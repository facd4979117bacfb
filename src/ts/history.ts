import type { NativeContextInfo } from './native/surface.js'

type HistoryInfo = Pick<NativeContextInfo, 'reason' | 'select' | 'chunk' | 'nCallMax'>

/**
 * What a context holds, and how much of it a prompt that begins with the same tokens need not read again.
 *
 * Only what would be the same bits is offered: a prompt gives the same whether its beginning was there or not. With select
 * 'query' that is every whole chunk of sparse calls that began at position 0, because nothing is handed from chunk to
 * chunk. With 'votes' a cut loses what the method remembers, so nothing is offered. A dense context offers whole calls.
 */
export class History {
  #tokens = new Int32Array(0)
  /** Positions below are as a prefill from 0 on leaves them. */
  #exact = 0
  readonly #unit: number
  readonly #least: number
  readonly #path: 'h2o' | 'dense'

  constructor(info: HistoryInfo, denseTail: number) {
    const isSparse = info.reason === null
    this.#path = isSparse ? 'h2o' : 'dense'
    this.#unit = !isSparse ? info.nCallMax : info.select === 'query' ? info.chunk : Number.POSITIVE_INFINITY
    // a rest of a chunk alone would be dense
    this.#least = isSparse ? denseTail + info.chunk + 1 : 1
  }

  /** A call that has ended put `tokens` at `pos`. */
  add(tokens: Int32Array, pos: number, path: string): void {
    if (pos !== this.#exact || path !== this.#path) return
    const whole = Math.floor(tokens.length / this.#unit) * this.#unit
    if (!(whole > 0)) return
    if (pos + whole > this.#tokens.length) {
      const grown = new Int32Array(Math.max(pos + whole, 2 * this.#tokens.length))
      grown.set(this.#tokens)
      this.#tokens = grown
    }
    this.#tokens.set(tokens.subarray(0, whole), pos)
    this.#exact += whole
  }

  /** Everything from `at` on is forgotten. */
  cut(at: number): void {
    if (at < this.#exact) this.#exact = at - (at % this.#unit)
  }

  /** Tokens at the beginning of `prompt` that need not be read again, so that the rest goes the way it would have gone. */
  reusable(prompt: Int32Array): number {
    const most = Math.min(prompt.length - this.#least, this.#exact)
    let same = 0
    while (same < most && prompt[same] === this.#tokens[same]) same++
    return same - (same % this.#unit)
  }
}
