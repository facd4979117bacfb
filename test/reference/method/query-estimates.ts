// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// What a set of the policy `query` leaves out, a page at a time (src/native/h2o/README.md, "Estimates"), for one layer and
// query head.

import { range } from '../model/attention.js'
import { capped } from '../model/ops.js'
import { meanOf, PAGE, type Rows } from './key-index.js'
import { logit } from './query.js'

/** One more key, which stands for what a set leaves out of a page. */
export interface Estimate {
  /** the means of the whole page */
  key: Float64Array
  value: Float64Array
  /** r_P: how many of its keys are not in the set */
  left: number
}

export interface Cells {
  /** of all candidates, at least */
  keys: Rows
  values: Rows
  /** C: positions 0..C - 1 are the candidates */
  nCandidates: number
}

/** For the queries that share the set. Where there is no set, nothing is left out of it. */
export function estimatesOf({ keys, values, nCandidates }: Cells, set: readonly number[]): Estimate[] {
  if (set.length === 0) return []
  return range(1, Math.floor(nCandidates / PAGE)).flatMap((page) => {
    const left = PAGE - set.filter((x) => Math.floor(x / PAGE) === page).length
    return left > 0 ? [{ key: meanOf(keys, page), value: meanOf(values, page), left }] : []
  })
}

/** What query q gives the estimate, as a logit; the cap is that of attention. */
export function estimateLogit(q: Float64Array, { key, left }: Estimate, cap?: number): number {
  return capped(logit(q, key), cap) + Math.log(left)
}
