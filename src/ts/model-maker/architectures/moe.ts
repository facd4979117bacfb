/** Mixtures of experts: qwen3moe (plain KV cache) and gpt-oss (sinks, biases, sliding windows). */

import { type Metadata, u32 } from '../gguf.js'
import type { TensorList } from '../plan.js'
import type { ModelConfig } from '../spec.js'
import { attention, embeddings, expertFfn } from './layers.js'

export function qwen3moe(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    t.norm(`blk.${layer}.attn_norm.weight`, c.hidden)
    attention(t, c, layer, { headNorms: true })
    t.norm(`blk.${layer}.ffn_norm.weight`, c.hidden)
    expertFfn(t, c, layer)
  }
}

export function gptOss(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    const blk = `blk.${layer}`
    t.norm(`${blk}.attn_norm.weight`, c.hidden)
    attention(t, c, layer, { bias: true })
    t.small(`${blk}.attn_output.bias`, [c.hidden], 0, 0.1)
    t.small(`${blk}.attn_sinks.weight`, [c.heads], 0, 1)
    t.norm(`${blk}.post_attention_norm.weight`, c.hidden)
    expertFfn(t, c, layer)
    t.small(`${blk}.ffn_gate_inp.bias`, [c.experts], 0, 0.1)
    t.small(`${blk}.ffn_gate_exps.bias`, [c.ffn, c.experts], 0, 0.1)
    t.small(`${blk}.ffn_up_exps.bias`, [c.ffn, c.experts], 0, 0.1)
    t.small(`${blk}.ffn_down_exps.bias`, [c.hidden, c.experts], 0, 0.1)
  }
}

export function expertMetadata(c: ModelConfig): Metadata {
  return {
    [`${c.arch}.expert_count`]: u32(c.experts),
    [`${c.arch}.expert_used_count`]: u32(c.expertsUsed),
    [`${c.arch}.expert_feed_forward_length`]: u32(c.ffn),
  }
}
