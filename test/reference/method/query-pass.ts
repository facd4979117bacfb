// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// A sparse call under the policy `query` (src/native/h2o/README.md): one pass over the call's tokens. A query attends
// to its block's set, to estimates of what that leaves out, to Local and to its own chunk; the output is ONE softmax over
// all of them. Blocks are of queries that are alike, by their head's order.

import { logitsOver, nGroup, range, sinkOf, valuesAt, weightedSum } from '../model/attention.js'
import { besideWindows } from '../model/dense.js'
import type { KvCache } from '../model/kv-cache.js'
import type { ReferenceModel } from '../model/model.js'
import { softmax } from '../model/ops.js'
import { forward } from '../model/transformer.js'
import { chunksOf } from './h2o.js'
import { chooseSet, logSumExp } from './query.js'
import { estimateLogit, estimatesOf } from './query-estimates.js'
import { BLOCK, orderOf } from './query-order.js'
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
  /** which queries of the chunk it is of, and which by the reference's order; the same, unless they were forced */
  queries: number[]
  ownQueries: number[]
  /** what it attended to besides; empty if there were no candidates */
  set: number[]
  /** what the reference chose for these queries, and how clearly; `set`, unless it was forced */
  own: number[]
  margin: number
}

/** The queries of a block, by their order in the chunk, and their set. */
export interface ForcedBlock {
  queries: number[]
  set: number[]
}

/** The blocks to use in place of the reference's own. */
export type ForcedBlocks = (layer: number, chunk: number, head: number, block: number) => ForcedBlock

export interface QueryCall extends Budget {
  /** tokens per chunk */
  S: number
  /** empty; by layer, chunk, head and block after the call */
  blocks: BlockTrace[]
  forcedBlocks?: ForcedBlocks | undefined
}

/** Appends the tokens as one sparse call and returns their logits, [n tokens][n_vocab]. */
export function queryPass(
  model: ReferenceModel,
  tokens: ArrayLike<number>,
  cache: KvCache,
  { S, L, H, blocks, forcedBlocks }: QueryCall,
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
        const ofHead = (row: Float64Array) => row.subarray(kvHead * h.headDim, (kvHead + 1) * h.headDim)
        const keys = cache.keys[layer]!.map(ofHead)
        const nCandidates = begin - nNear
        const cells = { keys, values: cache.values[layer]!.map(ofHead), nCandidates }
        const qOf = (i: number) => q.subarray(place(i, head), place(i, head) + h.headDim)
        const order = orderOf(range(begin, end).map(qOf))
        for (let block = 0; begin + block * BLOCK < end; block++) {
          const ownQueries = order.slice(block * BLOCK, (block + 1) * BLOCK)
          const forced = forcedBlocks?.(layer, chunk, head, block)
          const queries = forced?.queries ?? ownQueries
          const rows = queries.map((i) => ({
            q: qOf(begin + i),
            lse: logSumExp([...nearLogits(begin + i, head), sinkOf(model.weights, layer, head)]),
          }))
          const { taken: own, margin } = chooseSet({ rows, keys, nCandidates, H })
          const set = forced?.set ?? own
          const estimates = estimatesOf(cells, set)
          blocks.push({
            ...{ layer, chunk, head, block, pos: begin, nNear },
            ...{ queries, ownQueries, set, own, margin },
          })
          for (const i of queries.map((i) => begin + i)) {
            const at = place(i, head)
            const logits = [
              ...logitsOver(h, cache, layer, head, q, at, set),
              ...nearLogits(i, head),
              ...estimates.map((estimate) => estimateLogit(qOf(i), estimate, h.attentionCap)),
            ]
            const values = [
              ...valuesAt(h, cache, layer, head, [...set, ...nearOf(i)]),
              ...estimates.map(({ value }) => value),
            ]
            weightedSum(softmax(logits, sinkOf(model.weights, layer, head)), values, out, at)
          }
        }
      }
    }
    return out
  }
  return forward(model, tokens, { base, attend: besideWindows(model, cache, attend), store: cache })
}
