// Deviations by where in a chunk, or in a prompt, they are.
import type { Deviation } from './deviation.js'
import { Tally } from './tally.js'

/** What --json prints of one bin. Its names are permanent. */
export interface BinFigures {
  /** positions in it, both included */
  from: number
  to: number
  n: number
  kld: number
  ppl_ratio: number
  same_top_percent: number
}

const MOST = 8

/** The positions from `begin` up to, but without, `end` in up to eight bins, as equal as they come. */
export class Bins {
  readonly #begin: number
  readonly #length: number
  readonly #tallies: Tally[]

  constructor(begin: number, end: number) {
    this.#begin = begin
    this.#length = end - begin
    this.#tallies = Array.from({ length: Math.min(MOST, this.#length) }, () => new Tally())
  }

  add(position: number, deviation: Deviation): void {
    const index = Math.floor(((position - this.#begin) * this.#tallies.length) / this.#length)
    this.#tallies[index]?.add(deviation)
  }

  /** Those that hold anything. */
  figures(): BinFigures[] {
    const start = (index: number) => this.#begin + Math.ceil((index * this.#length) / this.#tallies.length)
    return this.#tallies.flatMap((tally, index) => {
      const figures = tally.figures()
      if (!figures) return []
      const { n, kld, ppl_ratio, same_top_percent } = figures
      return {
        from: start(index),
        to: start(index + 1) - 1,
        n,
        kld: kld.mean.value,
        ppl_ratio: ppl_ratio.value,
        same_top_percent: same_top_percent.value,
      }
    })
  }
}
