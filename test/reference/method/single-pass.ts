// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The single-pass schedule (src/native/h2o/README.md): one pass over the call's tokens, and in every layer of it all
// chunks in order.
//
// The output of a query is ONE softmax over the keys of its memory and of its own chunk together. The engine merges
// two attentions with online-softmax states instead; that both agree is what comparing them shows.

import { groupOf, logitsOver, range, sinkOf, valuesAt, weightedSum } from '../model/attention.js'
import { besideWindows } from '../model/dense.js'
import { softmax } from '../model/ops.js'
import { forward } from '../model/transformer.js'
import { denseMass } from './dense-mass.js'
import { chunksOf, type SparseSchedule, stepChunk, vote } from './h2o.js'

export const singlePass: SparseSchedule = (model, tokens, cache, call) => {
  const h = model.hparams
  const base = cache.length
  const chunks = chunksOf(base, tokens.length, call.S)

  const attend = (layer: number, q: Float64Array) => {
    const out = new Float64Array(q.length)
    for (const chunk of chunks) {
      stepChunk(h, call, layer, chunk, (kvHead, memory) => {
        const memPos = [...memory.keys()]
        const scores = new Map<number, number>()
        for (let i = chunk.begin; i < chunk.end; i++) {
          const visible = range(chunk.begin, i + 1)
          for (const head of groupOf(h, kvHead)) {
            const at = ((i - base) * h.nHead + head) * h.headDim
            const inter = logitsOver(h, cache, layer, head, q, at, memPos)
            const intra = logitsOver(h, cache, layer, head, q, at, visible)
            vote(memory, memPos, softmax(inter))
            const sink = sinkOf(model.weights, layer, head)
            vote(scores, visible, softmax(intra, sink))
            const values = valuesAt(h, cache, layer, head, [...memPos, ...visible])
            weightedSum(softmax([...inter, ...intra], sink), values, out, at)
          }
        }
        return scores
      })
      if (call.mass) call.trace.at(-1)!.mass = denseMass(h, cache, layer, q, base, chunk)
    }
    return out
  }
  return forward(model, tokens, { base, attend: besideWindows(model, cache, attend), store: cache })
}
