// Deviations added up, and the figures that they come to.

import { type Estimate, exponential, Mean, percentage, percentile } from '../statistics.js'
import type { Deviation } from './deviation.js'

/** What --json prints of the prompt or of the continuation. Its names are permanent. */
export interface Figures {
  /** tokens predicted */
  n: number
  /** those of them whose logits are equal to the bit; to the 16 bits of a saved file where that is the reference */
  identical: number
  ppl: Estimate
  ppl_dense: Estimate
  /** ppl / ppl_dense: of the mean difference of log likelihoods, token by token */
  ppl_ratio: Estimate
  ln_ppl_ratio: Estimate
  /** KL divergence from the dense prediction, in nats */
  kld: Divergence
  /** tokens for which both find the same one likeliest, in per cent */
  same_top_percent: Estimate
}

export interface Divergence {
  mean: Estimate
  max: number
  p99_9: number
  p99: number
  p95: number
  p90: number
  median: number
  p10: number
  p5: number
  min: number
}

export class Tally {
  #nll = new Mean()
  #nllDense = new Mean()
  #difference = new Mean()
  #kld = new Mean()
  #klds: number[] = []
  #sameTop = 0
  #identical = 0

  get n(): number {
    return this.#klds.length
  }

  add({ nll, nllDense, kld, sameTop, identical }: Deviation): void {
    this.#nll.add(nll)
    this.#nllDense.add(nllDense)
    this.#difference.add(nll - nllDense)
    this.#kld.add(kld)
    this.#klds.push(kld)
    if (sameTop) this.#sameTop++
    if (identical) this.#identical++
  }

  /** null where nothing was added */
  figures(): Figures | null {
    if (this.n === 0) return null
    const sorted = Float64Array.from(this.#klds).sort()
    const at = (fraction: number) => percentile(sorted, fraction)
    const difference = this.#difference.estimate
    return {
      n: this.n,
      identical: this.#identical,
      ppl: exponential(this.#nll.estimate),
      ppl_dense: exponential(this.#nllDense.estimate),
      ppl_ratio: exponential(difference),
      ln_ppl_ratio: difference,
      kld: {
        mean: this.#kld.estimate,
        max: at(1),
        p99_9: at(0.999),
        p99: at(0.99),
        p95: at(0.95),
        p90: at(0.9),
        median: at(0.5),
        p10: at(0.1),
        p5: at(0.05),
        min: at(0),
      },
      same_top_percent: percentage(this.#sameTop, this.n),
    }
  }
}
