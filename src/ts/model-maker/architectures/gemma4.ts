/** gemma4: window layers have a head size of their own, and the last layers read keys and values of earlier ones. */

import { f32, type Metadata, u32 } from '../gguf.js'
import type { TensorList } from '../plan.js'
import type { ModelConfig } from '../spec.js'
import { embeddings, gatedFfn } from './layers.js'

/** llama.cpp multiplies the embedding by sqrt(hidden). */
const EMBEDDING_GAIN = 1 / 8

export function gemma4(t: TensorList, c: ModelConfig): void {
  embeddings(t, c, EMBEDDING_GAIN)
  t.small('rope_freqs.weight', [c.headDim / 2], 1, 0.05)
  for (let layer = 0; layer < c.layers; layer++) {
    const blk = `blk.${layer}`
    const headDim = isFull(c, layer) ? c.headDim : c.windowHeadDim
    // logits are not divided by sqrt(headDim)
    const gain = Math.sqrt(c.attentionGain / Math.sqrt(headDim))

    t.norm(`${blk}.attn_norm.weight`, c.hidden)
    t.matrix(`${blk}.attn_q.weight`, c.hidden, c.heads * headDim)
    t.norm(`${blk}.attn_q_norm.weight`, headDim, gain)
    if (layer < c.layers - c.sharedKvLayers) {
      t.matrix(`${blk}.attn_k.weight`, c.hidden, c.kvHeads * headDim)
      t.matrix(`${blk}.attn_v.weight`, c.hidden, c.kvHeads * headDim)
      t.norm(`${blk}.attn_k_norm.weight`, headDim, gain)
    }
    t.matrix(`${blk}.attn_output.weight`, c.heads * headDim, c.hidden, 2)
    t.norm(`${blk}.post_attention_norm.weight`, c.hidden)
    t.norm(`${blk}.ffn_norm.weight`, c.hidden)
    gatedFfn(t, c, layer)
    t.norm(`${blk}.post_ffw_norm.weight`, c.hidden)
  }
}

export function gemma4Metadata(c: ModelConfig): Metadata {
  const isWindow = Array.from({ length: c.layers }, (_, layer) => !isFull(c, layer))
  return {
    'gemma4.attention.sliding_window_pattern': { type: 'bool[]', value: isWindow },
    'gemma4.attention.key_length_swa': u32(c.windowHeadDim),
    'gemma4.attention.value_length_swa': u32(c.windowHeadDim),
    'gemma4.attention.shared_kv_layers': u32(c.sharedKvLayers),
    'gemma4.rope.dimension_count_swa': u32(c.windowHeadDim),
    'gemma4.rope.freq_base_swa': f32(10000),
    'gemma4.embedding_length_per_layer_input': u32(0),
    'gemma4.final_logit_softcapping': f32(30),
  }
}

function isFull(c: ModelConfig, layer: number): boolean {
  return (layer + 1) % c.slidingPattern === 0
}
