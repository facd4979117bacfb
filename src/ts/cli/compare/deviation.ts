// One row of logits against another: how far the sparse prediction of a token is from the dense one.

export interface Deviation {
  /** negative log likelihood of the token that follows, in nats */
  nll: number
  nllDense: number
  /** KL divergence of the sparse distribution from the dense one, in nats */
  kld: number
  /** both find the same token likeliest; false where logits are NaN */
  sameTop: boolean
  /** the logits are equal to the bit */
  identical: boolean
}

/**
 * Compares `nVocab` logits from `at` on, in float64. `target` is the token that follows. Equal rows give a divergence
 * of exactly 0 and equal likelihoods. NaN logits make all figures NaN.
 */
export function deviation(
  dense: Float32Array,
  sparse: Float32Array,
  at: number,
  nVocab: number,
  target: number,
): Deviation {
  const topDense = largest(dense, at, nVocab)
  const topSparse = largest(sparse, at, nVocab)
  const maxDense = dense[topDense] as number
  const maxSparse = sparse[topSparse] as number
  let sumDense = 0
  let sumSparse = 0
  let cross = 0
  let identical = true
  for (let i = at; i < at + nVocab; i++) {
    identical &&= dense[i] === sparse[i] // false for NaN
    const d = (dense[i] as number) - maxDense
    const s = (sparse[i] as number) - maxSparse
    const weight = Math.exp(d)
    sumDense += weight
    sumSparse += Math.exp(s)
    if (weight !== 0) cross += weight * (d - s) // 0 times the infinity of an excluded token is 0 here
  }
  const logDense = Math.log(sumDense)
  const logSparse = Math.log(sumSparse)
  const kld = Math.max(0, cross / sumDense - logDense + logSparse) // rounding alone goes below
  return {
    nll: logSparse - ((sparse[at + target] as number) - maxSparse),
    nllDense: logDense - ((dense[at + target] as number) - maxDense),
    kld,
    sameTop: topDense === topSparse && !Number.isNaN(kld),
    identical,
  }
}

/** The index of the largest value; the lowest of equals. */
function largest(values: Float32Array, at: number, count: number): number {
  let best = at
  for (let i = at + 1; i < at + count; i++) if ((values[i] as number) > (values[best] as number)) best = i
  return best
}
