// Texts for the models of hot-model.ts, which says why they keep Heavy changing.

import { Random } from '../../../src/ts/model-maker/index.js'
import { range } from '../model/attention.js'
import { nearestLevel, TOKEN_HOT, TOKEN_PLAIN, TOKEN_SINK } from './hot-model.js'

export interface HotTextOptions {
  S: number
  H: number
  /** chunks of all sparse calls together; the trend is spread over so many */
  nChunks: number
  /** tokens of the model */
  nVocab?: number
  seed?: number
}

/** A text for a crafted model, call by call: the chunks it aims at are those that the calls will have. */
export class HotText {
  /** hot tokens so far: position, generation (count of chunks before) and which KV heads they are for (index % 2) */
  hot: { position: number; generation: number; parity: number }[] = []
  #options: Required<HotTextOptions>
  #random: Random
  #position = 0
  #generation = 0

  constructor(options: HotTextOptions) {
    this.#options = { nVocab: 256, seed: 1, ...options }
    this.#random = new Random(this.#options.seed, 'hot text')
  }

  /** The tokens of the next call. A call of no more than S tokens is dense and gets plain tokens only. */
  next(n: number): number[] {
    const { S } = this.#options
    const tokens: number[] = []
    for (let begin = 0; begin < n; begin += S) {
      const hot = n > S ? this.#hotTokens() : []
      for (let i = 0; i < Math.min(S, n - begin); i++) {
        const first = this.#position === 0
        tokens.push(first ? TOKEN_SINK : (hot[i] ?? this.#plainToken()))
        if (!first && i < hot.length) {
          this.hot.push({ position: this.#position, generation: this.#generation, parity: i % 2 })
        }
        this.#position++
      }
      if (n > S) this.#generation++
    }
    return tokens
  }

  /** Continues at position p, as after a rollback. */
  rewind(p: number): void {
    this.#position = p
    this.hot = this.hot.filter(({ position }) => position < p)
  }

  /** Both parities by turns, each with a good fifth of Heavy. */
  #hotTokens(): number[] {
    const { S, H, nChunks } = this.#options
    const progress = Math.min(1, this.#generation / Math.max(1, nChunks - 1))
    // ever fewer hot tokens, that together take an ever larger share of the chunk's attention
    const wanted = Math.ceil((0.35 - 0.13 * progress) * H)
    const perParity = Math.max(1, Math.min(wanted, Math.floor(0.35 * S)))
    const share = 0.3 * (0.95 / 0.3) ** progress
    const weight = ((S / 2 / perParity) * share) / (1 - share)
    return range(0, 2 * perParity).map((i) => {
      const logit = Math.log((weight * S) / (S - i)) // fewer queries see the later ones
      return TOKEN_HOT + 2 * nearestLevel(logit) + (i % 2)
    })
  }

  #plainToken(): number {
    return TOKEN_PLAIN + Math.floor(this.#random.uniform() * (this.#options.nVocab - TOKEN_PLAIN))
  }
}
