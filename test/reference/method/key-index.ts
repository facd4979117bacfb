// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// What the policy `query` knows of the keys of one layer and KV head before it looks at each of them
// (src/native/h2o/README.md, "query"). Both are functions of the keys alone, and are made from them at every question.

import { range } from '../model/attention.js'
import { dot } from '../model/ops.js'
import { best, type Choice } from './best.js'

/** keys of a page */
export const PAGE = 64
/** keys of a span */
export const SPAN = 256
/** landmarks of a span */
export const LANDMARKS = 16

/** By position. */
export type Keys = readonly Float64Array[]

/** kbar_P = 1/64 sum of k_j over the positions j of page P */
export function meanKey(keys: Keys, page: number): Float64Array {
  return mean(keys.slice(page * PAGE, (page + 1) * PAGE))
}

/** The 16 positions of a span whose keys have the lowest cosine with the span's mean key; NaN is the highest. */
export function landmarksOf(keys: Keys, span: number): Choice {
  const positions = range(span * SPAN, (span + 1) * SPAN)
  const centre = mean(positions.map((j) => keys[j]!))
  return best(positions, LANDMARKS, (j) => -cosine(keys[j]!, centre))
}

function mean(vectors: readonly Float64Array[]): Float64Array {
  return vectors[0]!.map((_, k) => vectors.reduce((sum, v) => sum + v[k]!, 0) / vectors.length)
}

function cosine(a: Float64Array, b: Float64Array): number {
  const n = a.length
  return dot(a, 0, b, 0, n) / Math.sqrt(dot(a, 0, a, 0, n) * dot(b, 0, b, 0, n))
}
