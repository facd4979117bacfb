/**
 * Sliding windows in between full layers, beside Gemma's and gpt-oss: cohere2, olmo2 (with a window: OLMo 3), exaone4
 * (with 64 layers), llama4 (chunks of 8192 positions for windows).
 */

import { f32, type Metadata, u32 } from '../gguf.js'
import type { TensorList } from '../plan.js'
import type { ModelConfig } from '../spec.js'
import { attention, embeddings, expertFfn, gatedFfn } from './layers.js'

/** One LayerNorm for attention and FFN, which run side by side. Full layers have no RoPE. */
export function cohere2(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    t.norm(`blk.${layer}.attn_norm.weight`, c.hidden)
    attention(t, c, layer)
    gatedFfn(t, c, layer)
  }
}

export function cohere2Metadata(c: ModelConfig): Metadata {
  return { 'cohere2.attention.layer_norm_epsilon': f32(c.eps), 'cohere2.logit_scale': f32(1) }
}

/** Norms behind attention and FFN alone, and over all heads of q, and of k, at once. */
export function olmo2(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    const blk = `blk.${layer}`
    attention(t, c, layer)
    t.norm(`${blk}.attn_q_norm.weight`, c.heads * c.headDim, Math.sqrt(c.attentionGain))
    t.norm(`${blk}.attn_k_norm.weight`, c.kvHeads * c.headDim, Math.sqrt(c.attentionGain))
    postNorms(t, c, layer)
  }
}

/** As olmo2, with norms over each head. Where there are windows, full layers have no RoPE. */
export function exaone4(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    attention(t, c, layer, { headNorms: true })
    postNorms(t, c, layer)
  }
}

function postNorms(t: TensorList, c: ModelConfig, layer: number): void {
  t.norm(`blk.${layer}.post_attention_norm.weight`, c.hidden)
  gatedFfn(t, c, layer)
  t.norm(`blk.${layer}.post_ffw_norm.weight`, c.hidden)
}

/** Mixtures with a shared expert. Full layers have no RoPE, and a temperature that grows with the position. */
export function llama4(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    const blk = `blk.${layer}`
    t.norm(`${blk}.attn_norm.weight`, c.hidden)
    attention(t, c, layer)
    t.norm(`${blk}.ffn_norm.weight`, c.hidden)
    expertFfn(t, c, layer)
    t.matrix(`${blk}.ffn_gate_shexp.weight`, c.hidden, c.ffn)
    t.matrix(`${blk}.ffn_up_shexp.weight`, c.hidden, c.ffn)
    t.matrix(`${blk}.ffn_down_shexp.weight`, c.ffn, c.hidden)
  }
}

export function llama4Metadata(): Metadata {
  return { 'llama4.interleave_moe_layer_step': u32(1), 'llama4.rope.freq_base_swa': f32(10000) }
}
