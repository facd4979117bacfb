/** The building blocks that architectures share, under the names that llama.cpp gives them. */

import type { Metadata } from '../gguf.js'
import type { TensorList } from '../plan.js'
import type { ModelConfig } from '../spec.js'

/** Attention averages values away, so its output projection makes up for some of it. */
const ATTENTION_OUT_GAIN = 2

export interface AttentionOptions {
  /** One attn_qkv matrix. */
  fused?: boolean
  /** Norms over each head of q and k. */
  headNorms?: boolean
  /** Biases of q, k and v. */
  bias?: boolean
}

/**
 * Token embedding, final norm, and the output matrix where it is not the embedding. An embedding `gain` below 1 is
 * for architectures that scale the embedding up: else it outweighs what the layers add, and a tied model repeats its
 * last token for ever. The final norm makes up for it.
 */
export function embeddings(t: TensorList, c: ModelConfig, gain = 1): void {
  t.tokens('token_embd.weight', c.embeddingType, c.readable && c.tied, gain)
  t.norm('output_norm.weight', c.hidden, c.tied ? 1 / gain : 1)
  if (!c.tied) t.tokens('output.weight', c.outputType, c.readable)
}

/**
 * attn_q, attn_k, attn_v (or attn_qkv) and attn_output of a layer. With unit variance in, logits have the standard
 * deviation `attentionGain`: half of it is in q, half in k; where heads are normed, in the weights of the norms.
 */
export function attention(t: TensorList, c: ModelConfig, layer: number, o: AttentionOptions = {}): void {
  const blk = `blk.${layer}`
  const q = c.heads * c.headDim
  const kv = c.kvHeads * c.headDim
  const gain = Math.sqrt(c.attentionGain)
  const qk = o.headNorms ? 1 : gain
  if (o.fused) {
    t.matrix(`${blk}.attn_qkv.weight`, c.hidden, q + 2 * kv, (row) => (row < q + kv ? qk : 1))
  } else {
    t.matrix(`${blk}.attn_q.weight`, c.hidden, q, qk)
    t.matrix(`${blk}.attn_k.weight`, c.hidden, kv, qk)
    t.matrix(`${blk}.attn_v.weight`, c.hidden, kv)
  }
  if (o.bias) {
    t.small(`${blk}.attn_q.bias`, [q], 0, 0.2)
    t.small(`${blk}.attn_k.bias`, [kv], 0, 0.2)
    t.small(`${blk}.attn_v.bias`, [kv], 0, 0.2)
  }
  if (o.headNorms) {
    t.norm(`${blk}.attn_q_norm.weight`, c.headDim, gain)
    t.norm(`${blk}.attn_k_norm.weight`, c.headDim, gain)
  }
  t.matrix(`${blk}.attn_output.weight`, q, c.hidden, ATTENTION_OUT_GAIN)
}

/**
 * As attention with normed heads; attn_q gives each head its query and a gate for what it finds, one behind the other.
 */
export function gatedAttention(t: TensorList, c: ModelConfig, layer: number): void {
  const blk = `blk.${layer}`
  const kv = c.kvHeads * c.headDim
  const gain = Math.sqrt(c.attentionGain)
  t.matrix(`${blk}.attn_q.weight`, c.hidden, 2 * c.heads * c.headDim)
  t.matrix(`${blk}.attn_k.weight`, c.hidden, kv)
  t.matrix(`${blk}.attn_v.weight`, c.hidden, kv)
  t.norm(`${blk}.attn_q_norm.weight`, c.headDim, gain)
  t.norm(`${blk}.attn_k_norm.weight`, c.headDim, gain)
  t.matrix(`${blk}.attn_output.weight`, c.heads * c.headDim, c.hidden, 2 * ATTENTION_OUT_GAIN)
}

/** Of a hybrid model with attention in every second layer. */
export function isSecond(layer: number): boolean {
  return layer % 2 === 1
}

/** llama.cpp takes a layer without key/value heads for a recurrent one. */
export function secondHeads(c: ModelConfig): Metadata {
  const value = Array.from({ length: c.layers }, (_, layer) => (isSecond(layer) ? c.kvHeads : 0))
  return { [`${c.arch}.attention.head_count_kv`]: { type: 'u32[]', value } }
}

/** Gate, up and down: down(act(gate x) * up x). */
export function gatedFfn(t: TensorList, c: ModelConfig, layer: number): void {
  const blk = `blk.${layer}`
  t.matrix(`${blk}.ffn_gate.weight`, c.hidden, c.ffn)
  t.matrix(`${blk}.ffn_up.weight`, c.hidden, c.ffn)
  t.matrix(`${blk}.ffn_down.weight`, c.ffn, c.hidden)
}

/** A router and `experts` gated FFNs, stacked. */
export function expertFfn(t: TensorList, c: ModelConfig, layer: number): void {
  const blk = `blk.${layer}`
  t.small(`${blk}.ffn_gate_inp.weight`, [c.hidden, c.experts], 0, 2 / Math.sqrt(c.hidden))
  t.matrix(`${blk}.ffn_gate_exps.weight`, c.hidden, [c.ffn, c.experts])
  t.matrix(`${blk}.ffn_up_exps.weight`, c.hidden, [c.ffn, c.experts])
  t.matrix(`${blk}.ffn_down_exps.weight`, c.ffn, [c.hidden, c.experts])
}
