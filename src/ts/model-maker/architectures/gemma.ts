/** gemma2 and gemma3: norms before and after each half of a layer, sliding windows in between full layers. */

import { f32, type Metadata } from '../gguf.js'
import type { TensorList } from '../plan.js'
import type { ModelConfig } from '../spec.js'
import { attention, embeddings, gatedFfn } from './layers.js'

/** llama.cpp multiplies the embedding by sqrt(hidden). */
const EMBEDDING_GAIN = 1 / 8

export function gemma(t: TensorList, c: ModelConfig): void {
  embeddings(t, c, EMBEDDING_GAIN)
  for (let layer = 0; layer < c.layers; layer++) {
    const blk = `blk.${layer}`
    t.norm(`${blk}.attn_norm.weight`, c.hidden)
    attention(t, c, layer, { headNorms: c.arch === 'gemma3' })
    t.norm(`${blk}.post_attention_norm.weight`, c.hidden)
    t.norm(`${blk}.ffn_norm.weight`, c.hidden)
    gatedFfn(t, c, layer)
    t.norm(`${blk}.post_ffw_norm.weight`, c.hidden)
  }
}

export function gemma2Metadata(): Metadata {
  return {
    'gemma2.attn_logit_softcapping': f32(50),
    'gemma2.final_logit_softcapping': f32(30),
  }
}
