// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// Attention over a part of the keys as a state that can be merged (src/native/h2o/README.md, rule 6).

import { weightedSum } from './attention.js'
import { softmax } from './ops.js'

/** One query and some keys. No keys at all: m = -Infinity, l = 0, o = 0. */
export interface SoftmaxState {
  /** the largest logit */
  m: number
  /** the sum of exp(logit - m) */
  l: number
  /** the output of softmax attention over these keys, so normalised */
  o: Float64Array
}

/** The values are `width` numbers each, one for each logit. */
export function softmaxState(
  logits: readonly number[],
  values: readonly Float64Array[],
  width: number,
): SoftmaxState {
  const m = logits.reduce((a, b) => Math.max(a, b), -Infinity)
  const l = logits.reduce((sum, x) => sum + Math.exp(x - m), 0)
  const o = new Float64Array(width)
  weightedSum(softmax(logits), values, o)
  return { m, l, o }
}

/** The state over the keys of both. At most one side may be without keys. */
export function merge(a: SoftmaxState, b: SoftmaxState): SoftmaxState {
  const m = Math.max(a.m, b.m)
  const lA = a.l * Math.exp(a.m - m)
  const lB = b.l * Math.exp(b.m - m)
  return { m, l: lA + lB, o: a.o.map((x, k) => (x * lA + b.o[k]! * lB) / (lA + lB)) }
}
