// Causal attention over the whole cache, or over a layer's window: what a call does that is not sparse, and what stock
// llama.cpp always does. And what a sparse call does in layers with a window.

import { type Attention, logitsOver, range, sinkOf, valuesAt, weightedSum } from './attention.js'
import type { KvCache } from './kv-cache.js'
import type { ReferenceModel } from './model.js'
import { softmax } from './ops.js'

export function denseAttention({ hparams: h, weights: w }: ReferenceModel, cache: KvCache): Attention {
  return (layer, q, base) => {
    const window = h.windows?.[layer] || Infinity
    const out = new Float64Array(q.length)
    const n = q.length / (h.nHead * h.headDim)
    for (let i = 0; i < n; i++) {
      const visible = range(Math.max(0, base + i + 1 - window), base + i + 1)
      for (let head = 0; head < h.nHead; head++) {
        const at = (i * h.nHead + head) * h.headDim
        const logits = logitsOver(h, cache, layer, head, q, at, visible)
        const weights = softmax(logits, sinkOf(w, layer, head))
        weightedSum(weights, valuesAt(h, cache, layer, head, visible), out, at)
      }
    }
    return out
  }
}

/** `attend` in the layers that see all positions, dense attention in those with a window. */
export function besideWindows(model: ReferenceModel, cache: KvCache, attend: Attention): Attention {
  const dense = denseAttention(model, cache)
  return (layer, q, base) => (model.hparams.windows?.[layer] ? dense : attend)(layer, q, base)
}
