// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The memory set of a block of queries under the policy `query` (src/native/h2o/README.md), for one layer and query
// head. Names of the formulas: q_i is the query of row i, k_x the key at position x, s(i, x) = q_i . k_x / sqrt(d),
// lse(i) the log-sum-exp over Local and the chunk up to i, of logits as attention has them: capped, with the sink.

import { range } from '../model/attention.js'
import { dot } from '../model/ops.js'
import { best, type Choice } from './best.js'
import { meanOf, PAGE, type Rows } from './key-index.js'

/** One query. */
export interface Row {
  q: Float64Array
  /** over the keys that it sees without a set */
  lse: number
}

export interface Question {
  /** the block's queries */
  rows: Row[]
  /** of all candidates, at least */
  keys: Rows
  /** C: positions 0..C - 1 are the candidates */
  nCandidates: number
  /** H */
  H: number
}

/** The set, ascending, and how clearly it was chosen: position 0, and the best of what some query wants. */
export function chooseSet({ rows, keys, nCandidates, H }: Question): Choice {
  if (nCandidates <= H) return { taken: range(0, nCandidates), margin: Infinity }
  if (H === 0) return { taken: [], margin: Infinity }

  const nPages = Math.floor(nCandidates / PAGE)
  const means = range(1, nPages).map((page) => meanOf(keys, page))
  const share = new Float64Array(nCandidates).fill(-Infinity) // the largest of any row: s(i, x) - t(i)
  for (const { q, lse } of rows) {
    const s = range(0, nCandidates).map((x) => logit(q, keys[x]!))
    const ofPages = means.map((mean) => Math.log(PAGE) + logit(q, mean))
    const t = logSumExp([lse, ...s.slice(0, PAGE), ...ofPages].filter((x) => !Number.isNaN(x)))
    for (const [x, value] of s.entries()) if (value - t > share[x]!) share[x] = value - t
  }
  const others = best(range(1, nCandidates), H - 1, (x) => share[x]!, leastShare(nCandidates))
  return { taken: [0, ...others.taken], margin: others.margin }
}

/** What a query gives a key that it wants, and more: the logarithm of a share. */
export function leastShare(nCandidates: number): number {
  return Math.log(4 / Math.max(nCandidates, 16384))
}

export function logSumExp(logits: readonly number[]): number {
  const max = logits.reduce((a, b) => Math.max(a, b), -Infinity)
  if (max === -Infinity) return max
  return max + Math.log(logits.reduce((sum, x) => sum + Math.exp(x - max), 0))
}

/** without a cap */
export function logit(q: Float64Array, key: Float64Array): number {
  return dot(q, 0, key, 0, key.length) / Math.sqrt(key.length)
}
