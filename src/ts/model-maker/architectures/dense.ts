/** Dense attention over a plain KV cache: llama, mistral3, qwen2, qwen3, phi3; and mpt, which has ALiBi. */

import { f32, type Metadata } from '../gguf.js'
import type { TensorList } from '../plan.js'
import type { ModelConfig } from '../spec.js'
import { attention, embeddings, gatedFfn } from './layers.js'

export function llama(t: TensorList, c: ModelConfig): void {
  preNorm(t, c, (layer) => {
    attention(t, c, layer, { bias: c.arch === 'qwen2', headNorms: c.arch === 'qwen3' })
    gatedFfn(t, c, layer)
  })
}

/** Fused qkv; gate and up are one matrix of 2 * ffn rows, gate first. */
export function phi3(t: TensorList, c: ModelConfig): void {
  preNorm(t, c, (layer) => {
    attention(t, c, layer, { fused: true })
    t.matrix(`blk.${layer}.ffn_up.weight`, c.hidden, 2 * c.ffn)
    t.matrix(`blk.${layer}.ffn_down.weight`, c.ffn, c.hidden)
  })
}

/** LayerNorm without biases, fused qkv, no rope, FFN down(gelu(up x)). */
export function mpt(t: TensorList, c: ModelConfig): void {
  preNorm(t, c, (layer) => {
    attention(t, c, layer, { fused: true })
    t.matrix(`blk.${layer}.ffn_up.weight`, c.hidden, c.ffn)
    t.matrix(`blk.${layer}.ffn_down.weight`, c.ffn, c.hidden)
  })
}

export function mptMetadata(): Metadata {
  return { 'mpt.attention.max_alibi_bias': f32(8) }
}

/** Embeddings, then per layer the two norms around what `body` adds. */
function preNorm(t: TensorList, c: ModelConfig, body: (layer: number) => void): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    t.norm(`blk.${layer}.attn_norm.weight`, c.hidden)
    t.norm(`blk.${layer}.ffn_norm.weight`, c.hidden)
    body(layer)
  }
}
