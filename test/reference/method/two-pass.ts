// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The two-pass schedule (src/native/h2o/README.md): the network runs twice over the call's tokens.
//
//  Phase 1, once over all tokens: every chunk attends to itself alone. This writes the keys and values of all layers,
//  gives the initial scores of all chunks, and leaves the online-softmax state of every query.
//
//  Phase 2, chunk by chunk, from the embeddings again: attention to the memory, merged in every layer with the state
//  that phase 1 left there. It writes no keys and values, and its logits are the call's.
//
// Above layer 0 the queries of the two phases differ. The state merged is that of phase 1's query, and the memory
// holds keys and values that saw only their own chunk: no one softmax of one query gives this, hence the merge here.

import { type Attention, groupOf, logitsOver, nGroup, range, valuesAt } from '../model/attention.js'
import type { KvCache } from '../model/kv-cache.js'
import type { Hparams } from '../model/model.js'
import { merge, type SoftmaxState, softmaxState } from '../model/online-softmax.js'
import { softmax } from '../model/ops.js'
import { forward } from '../model/transformer.js'
import { denseMass } from './dense-mass.js'
import { type Chunk, chunksOf, type SparseCall, type SparseSchedule, stepChunk, vote } from './h2o.js'

/** What phase 1 leaves of one chunk in one layer. */
interface Intra {
  /** [token of the chunk][query head] */
  states: SoftmaxState[][]
  /** [kv head]: initial scores of the chunk's positions */
  scores: Map<number, number>[]
}

export const twoPass: SparseSchedule = (model, tokens, cache, call) => {
  const h = model.hparams
  const base = cache.length
  const chunks = chunksOf(base, tokens.length, call.S)

  /** [chunk][layer] */
  const intra: Intra[][] = chunks.map(() => [])
  const phase1: Attention = (layer, q) => {
    for (const chunk of chunks) intra[chunk.index]!.push(attendItself(h, cache, layer, q, base, chunk))
    return Float64Array.from(
      intra.flatMap((layers) => layers[layer]!.states.flat()).flatMap(({ o }) => [...o]),
    )
  }
  forward(model, tokens, { base, attend: phase1, store: cache })

  const logits = chunks.flatMap((chunk) => {
    const phase2 = memoryAttention(h, cache, call, chunk, intra[chunk.index]!)
    const own = Array.from(tokens).slice(chunk.begin - base, chunk.end - base)
    return [...forward(model, own, { base: chunk.begin, attend: phase2 })]
  })
  call.trace.sort((a, b) => a.layer - b.layer || a.chunk - b.chunk)
  return Float64Array.from(logits)
}

/** Phase 1 of one chunk: causal attention within it; q is that of the whole call, from position `base` on. */
function attendItself(
  h: Hparams,
  cache: KvCache,
  layer: number,
  q: Float64Array,
  base: number,
  chunk: Chunk,
): Intra {
  const { begin, end } = chunk
  const scores = range(0, h.nHeadKv).map(() => new Map<number, number>())
  const states = range(begin, end).map((i) => {
    const visible = range(begin, i + 1)
    return range(0, h.nHead).map((head) => {
      const at = ((i - base) * h.nHead + head) * h.headDim
      const logits = logitsOver(h, cache, layer, head, q, at, visible)
      vote(scores[Math.floor(head / nGroup(h))]!, visible, softmax(logits))
      return softmaxState(logits, valuesAt(h, cache, layer, head, visible), h.headDim)
    })
  })
  return { states, scores }
}

/** Phase 2 of one chunk: attention to the memory, merged with what phase 1 left; without a memory that alone. */
function memoryAttention(
  h: Hparams,
  cache: KvCache,
  call: SparseCall,
  chunk: Chunk,
  intra: readonly Intra[],
): Attention {
  return (layer, q) => {
    const out = new Float64Array(q.length)
    const { states, scores } = intra[layer]!
    stepChunk(h, call, layer, chunk, (kvHead, memory) => {
      const memPos = [...memory.keys()]
      for (const [row, own] of states.entries()) {
        for (const head of groupOf(h, kvHead)) {
          const at = (row * h.nHead + head) * h.headDim
          if (memPos.length === 0) {
            out.set(own[head]!.o, at)
            continue
          }
          const logits = logitsOver(h, cache, layer, head, q, at, memPos)
          vote(memory, memPos, softmax(logits))
          const inter = softmaxState(logits, valuesAt(h, cache, layer, head, memPos), h.headDim)
          out.set(merge(inter, own[head]!).o, at)
        }
      }
      return scores[kvHead]!
    })
    if (call.mass) call.trace.at(-1)!.mass = denseMass(h, cache, layer, q, chunk.begin, chunk)
    return out
  }
}
