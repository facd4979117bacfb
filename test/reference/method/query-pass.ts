// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// A sparse call under the policy `query` (src/native/h2o/README.md): one pass over the call's tokens. A query attends
// to its block's set, to Local and to its own chunk; the output is ONE softmax over all of them.

import { logitsOver, nGroup, range, sinkOf, valuesAt, weightedSum } from '../model/attention.js'
import { besideWindows } from '../model/dense.js'
import type { KvCache } from '../model/kv-cache.js'
import type { ReferenceModel } from '../model/model.js'
import { softmax } from '../model/ops.js'
import { forward } from '../model/transformer.js'
import { chunksOf } from './h2o.js'
import { BLOCK, chooseSet, logSumExp } from './query.js'
import type { Budget } from './selection.js'

/** What one block of queries of one head did. */
export interface BlockTrace {
  layer: number
  chunk: number
  head: number
  /** of its chunk */
  block: number
  /** the chunk begins here */
  pos: number
  /** positions before the chunk that are Local */
  nNear: number
  /** what it attended to besides; empty if there were no candidates */
  set: number[]
  /** what the reference chose, and how clearly; `set`, unless it was forced */
  own: number[]
  margin: number
}

/** The sets to use in place of the reference's own. */
export type ForcedSets = (layer: number, chunk: number, head: number, block: number) => ArrayLike<number>

export interface QueryCall extends Budget {
  /** tokens per chunk */
  S: number
  /** empty; by layer, chunk, head and block after the call */
  blocks: BlockTrace[]
  forcedSets?: ForcedSets | undefined
}

/** Appends the tokens as one sparse call and returns their logits, [n tokens][n_vocab]. */
export function queryPass(
  model: ReferenceModel,
  tokens: ArrayLike<number>,
  cache: KvCache,
  { S, L, H, blocks, forcedSets }: QueryCall,
): Float64Array {
  const h = model.hparams
  const base = cache.length

  const attend = (layer: number, q: Float64Array) => {
    const out = new Float64Array(q.length)
    const place = (i: number, head: number) => ((i - base) * h.nHead + head) * h.headDim

    for (const { index: chunk, begin, end } of chunksOf(base, tokens.length, S)) {
      const nNear = Math.min(L, begin)
      const nearOf = (i: number) => range(begin - nNear, i + 1)
      const nearLogits = (i: number, head: number) =>
        logitsOver(h, cache, layer, head, q, place(i, head), nearOf(i))

      for (const head of range(0, h.nHead)) {
        const kvHead = Math.floor(head / nGroup(h))
        const keys = cache.keys[layer]!.map((row) =>
          row.subarray(kvHead * h.headDim, (kvHead + 1) * h.headDim),
        )
        for (let block = 0; begin + block * BLOCK < end; block++) {
          const queries = range(begin + block * BLOCK, Math.min(begin + (block + 1) * BLOCK, end))
          const rows = queries.map((i) => ({
            q: q.subarray(place(i, head), place(i, head) + h.headDim),
            lse: logSumExp([...nearLogits(i, head), sinkOf(model.weights, layer, head)]),
            nSeen: nearOf(i).length,
          }))
          const own = chooseSet({ rows, keys, begin, nCandidates: begin - nNear, H })
          const set = forcedSets ? Array.from(forcedSets(layer, chunk, head, block)) : own.taken
          blocks.push({
            ...{ layer, chunk, head, block, pos: begin, nNear, set },
            ...{ own: own.taken, margin: own.margin },
          })
          for (const i of queries) {
            const at = place(i, head)
            const logits = [...logitsOver(h, cache, layer, head, q, at, set), ...nearLogits(i, head)]
            const values = valuesAt(h, cache, layer, head, [...set, ...nearOf(i)])
            weightedSum(softmax(logits, sinkOf(model.weights, layer, head)), values, out, at)
          }
        }
      }
    }
    return out
  }
  return forward(model, tokens, { base, attend: besideWindows(model, cache, attend), store: cache })
}
