// Causal attention over the whole cache: what a call does that is not sparse, and what stock llama.cpp always does.

import { type Attention, logitsOver, range, valuesAt, weightedSum } from './attention.js'
import type { KvCache } from './kv-cache.js'
import type { Hparams } from './model.js'
import { softmax } from './ops.js'

export function denseAttention(h: Hparams, cache: KvCache): Attention {
  return (layer, q, base) => {
    const out = new Float64Array(q.length)
    const n = q.length / (h.nHead * h.headDim)
    for (let i = 0; i < n; i++) {
      const visible = range(0, base + i + 1)
      for (let head = 0; head < h.nHead; head++) {
        const at = (i * h.nHead + head) * h.headDim
        const weights = softmax(logitsOver(h, cache, layer, head, q, at, visible))
        weightedSum(weights, valuesAt(h, cache, layer, head, visible), out, at)
      }
    }
    return out
  }
}
