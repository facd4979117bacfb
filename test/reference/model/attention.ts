// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// One query against a list of positions: the two lines of algebra that dense and sparse attention share.

import type { KvCache } from './kv-cache.js'
import { type Hparams, need, type Weights } from './model.js'
import { capped, dot } from './ops.js'

/** q is [n tokens][nHead * headDim], rotated; k and v of the n tokens are in the cache already. Same shape out. */
export type Attention = (layer: number, q: Float64Array, base: number) => Float64Array

export function nGroup(h: Hparams): number {
  return h.nHead / h.nHeadKv
}

/** The query heads that share a KV head. */
export function groupOf(h: Hparams, kvHead: number): number[] {
  return range(kvHead * nGroup(h), (kvHead + 1) * nGroup(h))
}

/** q . k / sqrt(headDim), capped, for query head `head` at q[at...] and the keys at `positions`. */
export function logitsOver(
  h: Hparams,
  cache: KvCache,
  layer: number,
  head: number,
  q: Float64Array,
  at: number,
  positions: ArrayLike<number>,
): number[] {
  const kvAt = Math.floor(head / nGroup(h)) * h.headDim
  const keys = cache.keys[layer]!
  const scale = 1 / Math.sqrt(h.headDim)
  return Array.from(positions, (p) => capped(scale * dot(q, at, keys[p]!, kvAt, h.headDim), h.attentionCap))
}

/** The values that query head `head` finds at `positions`, headDim numbers each; views of the cache. */
export function valuesAt(
  h: Hparams,
  cache: KvCache,
  layer: number,
  head: number,
  positions: ArrayLike<number>,
): Float64Array[] {
  const kvAt = Math.floor(head / nGroup(h)) * h.headDim
  return Array.from(positions, (p) => cache.values[layer]![p]!.subarray(kvAt, kvAt + h.headDim))
}

/** out[at...] = the weighted sum of the values. */
export function weightedSum(
  weights: readonly number[],
  values: readonly Float64Array[],
  out: Float64Array,
  at = 0,
): void {
  for (let j = 0; j < values.length; j++) {
    const value = values[j]!
    for (let k = 0; k < value.length; k++) out[at + k]! += weights[j]! * value[k]!
  }
}

/**
 * The logit of a head's sink: one more key, whose value is zero. It belongs to a query's own chunk, in votes and in
 * what its policy reads. -Infinity without one.
 */
export function sinkOf(weights: Weights, layer: number, head: number): number {
  const name = `blk.${layer}.attn_sinks.weight`
  return weights.has(name) ? need(weights, name).data[head]! : -Infinity
}

/** [from, from + 1, ..., to - 1] */
export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}
