/** qwen35, qwen35moe, qwen3next: gated delta nets, and every fourth layer gated attention with normed heads. */

import { type Metadata, u32 } from '../gguf.js'
import type { TensorList } from '../plan.js'
import type { ModelConfig } from '../spec.js'
import { embeddings, expertFfn, gatedAttention, gatedFfn } from './layers.js'
import { expertMetadata } from './moe.js'

const CONV_KERNEL = 4

export function deltaNet(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    const blk = `blk.${layer}`
    t.norm(`${blk}.attn_norm.weight`, c.hidden)
    if ((layer + 1) % interval(c) === 0) gatedAttention(t, c, layer)
    else mixer(t, c, layer)
    t.norm(`${blk}.post_attention_norm.weight`, c.hidden)
    if (c.arch === 'qwen35') {
      gatedFfn(t, c, layer)
    } else {
      expertFfn(t, c, layer)
      sharedExpert(t, c, layer)
    }
  }
}

export function deltaNetMetadata(c: ModelConfig): Metadata {
  return {
    [`${c.arch}.ssm.conv_kernel`]: u32(CONV_KERNEL),
    [`${c.arch}.ssm.state_size`]: u32(headSize(c)),
    [`${c.arch}.ssm.group_count`]: u32(keyHeads(c)),
    [`${c.arch}.ssm.time_step_rank`]: u32(valueHeads(c)),
    [`${c.arch}.ssm.inner_size`]: u32(c.heads * c.headDim),
    [`${c.arch}.full_attention_interval`]: u32(interval(c)),
    ...(c.arch === 'qwen3next' ? {} : ropeSections(c)),
    ...(c.arch === 'qwen35' ? {} : expertMetadata(c)),
    ...(c.arch === 'qwen35' ? {} : { [`${c.arch}.expert_shared_feed_forward_length`]: u32(c.ffn) }),
  }
}

/** Pairs of time, height and width, in turns: a token of text has the same position in all three. */
function ropeSections(c: ModelConfig): Metadata {
  const pairs = c.headDim / 2
  const value = [Math.ceil(pairs / 3), Math.ceil((pairs - 1) / 3), Math.floor(pairs / 3), 0]
  return { [`${c.arch}.rope.dimension_sections`]: { type: 'i32[]', value } }
}

/**
 * Convolution over q, k and v, decay and step by softplus and sigmoid, gated norm. Its values are as wide as
 * attention's.
 */
function mixer(t: TensorList, c: ModelConfig, layer: number): void {
  const blk = `blk.${layer}`
  const size = headSize(c)
  const heads = valueHeads(c)
  const keys = keyHeads(c) * size
  const values = heads * size
  t.matrix(`${blk}.attn_qkv.weight`, c.hidden, 2 * keys + values)
  t.matrix(`${blk}.attn_gate.weight`, c.hidden, values)
  t.small(`${blk}.ssm_conv1d.weight`, [CONV_KERNEL, 2 * keys + values], 0, 1 / Math.sqrt(CONV_KERNEL))
  t.small(`${blk}.ssm_dt.bias`, [heads], -3, 0.5)
  t.small(`${blk}.ssm_a`, [heads], -1, 0.2)
  if (c.arch === 'qwen3next') {
    t.matrix(`${blk}.ssm_ba.weight`, c.hidden, 2 * heads)
  } else {
    t.matrix(`${blk}.ssm_beta.weight`, c.hidden, heads)
    t.matrix(`${blk}.ssm_alpha.weight`, c.hidden, heads)
  }
  t.norm(`${blk}.ssm_norm.weight`, size)
  t.matrix(`${blk}.ssm_out.weight`, values, c.hidden)
}

/** A gated FFN of the size of one expert, with a gate of its own for the whole. */
function sharedExpert(t: TensorList, c: ModelConfig, layer: number): void {
  const blk = `blk.${layer}`
  t.small(`${blk}.ffn_gate_inp_shexp.weight`, [c.hidden], 0, 1 / Math.sqrt(c.hidden))
  t.matrix(`${blk}.ffn_gate_shexp.weight`, c.hidden, c.ffn)
  t.matrix(`${blk}.ffn_up_shexp.weight`, c.hidden, c.ffn)
  t.matrix(`${blk}.ffn_down_shexp.weight`, c.ffn, c.hidden)
}

/** Of keys and values, 128 at most: a delta net has twice as many heads as gated attention, of half the size. */
function headSize(c: ModelConfig): number {
  return Math.min(128, c.headDim)
}

function valueHeads(c: ModelConfig): number {
  return (c.heads * c.headDim) / headSize(c)
}

/** A key serves two values, where that comes out even. */
function keyHeads(c: ModelConfig): number {
  const heads = valueHeads(c)
  return heads % 2 === 0 ? heads / 2 : heads
}

/** Every so many layers one is attention; a shorter model has its last layer. */
function interval(c: ModelConfig): number {
  return Math.min(4, c.layers)
}
