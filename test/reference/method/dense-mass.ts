// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// What dense attention would give each position, for the queries of one chunk as the sparse run has them.

import { groupOf, logitsOver, range } from '../model/attention.js'
import type { KvCache } from '../model/kv-cache.js'
import type { Hparams } from '../model/model.js'
import { softmax } from '../model/ops.js'
import type { Chunk } from './h2o.js'

/** [kv head][position up to the chunk's end]; q begins at position `base`. */
export function denseMass(
  h: Hparams,
  cache: KvCache,
  layer: number,
  q: Float64Array,
  base: number,
  { begin, end }: Chunk,
): Float64Array[] {
  return range(0, h.nHeadKv).map((kvHead) => {
    const mass = new Float64Array(end)
    for (let i = begin; i < end; i++) {
      for (const head of groupOf(h, kvHead)) {
        const at = ((i - base) * h.nHead + head) * h.headDim
        const weights = softmax(logitsOver(h, cache, layer, head, q, at, range(0, i + 1)))
        for (const [j, weight] of weights.entries()) mass[j]! += weight
      }
    }
    return mass
  })
}
