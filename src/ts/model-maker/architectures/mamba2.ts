/**
 * Hybrids with Mamba 2: granitehybrid (every second layer is attention), falcon-h1 (each layer has both), nemotron_h (a
 * mixer, attention, an FFN in turns, each a layer).
 */

import { f32, type Metadata, u32 } from '../gguf.js'
import type { TensorList } from '../plan.js'
import type { ModelConfig } from '../spec.js'
import { attention, embeddings, gatedFfn, isSecond, secondHeads } from './layers.js'

const CONV_KERNEL = 4
const STATE_SIZE = 32
const HEAD_SIZE = 32
const GROUPS = 1

export function graniteHybrid(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    t.norm(`blk.${layer}.attn_norm.weight`, c.hidden)
    if (isSecond(layer)) attention(t, c, layer)
    else mixer(t, c, layer)
    t.norm(`blk.${layer}.ffn_norm.weight`, c.hidden)
    gatedFfn(t, c, layer)
  }
}

export function falconH1(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    t.norm(`blk.${layer}.attn_norm.weight`, c.hidden)
    attention(t, c, layer)
    mixer(t, c, layer)
    t.norm(`blk.${layer}.ffn_norm`, c.hidden)
    gatedFfn(t, c, layer)
  }
}

/** The FFN is down(relu(up x)^2). */
export function nemotronH(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    const blk = `blk.${layer}`
    t.norm(`${blk}.attn_norm.weight`, c.hidden)
    if (isNemotronFfn(layer)) {
      t.matrix(`${blk}.ffn_up.weight`, c.hidden, c.ffn)
      t.matrix(`${blk}.ffn_down.weight`, c.ffn, c.hidden)
    } else if (isNemotronAttention(layer)) {
      attention(t, c, layer)
    } else {
      mixer(t, c, layer)
    }
  }
}

export function graniteHybridMetadata(c: ModelConfig): Metadata {
  return { ...mamba2Metadata(c), ...secondHeads(c) }
}

export function mamba2Metadata(c: ModelConfig): Metadata {
  return {
    [`${c.arch}.ssm.conv_kernel`]: u32(CONV_KERNEL),
    [`${c.arch}.ssm.inner_size`]: u32(innerSize(c)),
    [`${c.arch}.ssm.state_size`]: u32(STATE_SIZE),
    [`${c.arch}.ssm.time_step_rank`]: u32(innerSize(c) / HEAD_SIZE),
    [`${c.arch}.ssm.group_count`]: u32(GROUPS),
  }
}

/** llama.cpp takes a layer without key/value heads and without an FFN for a recurrent one. */
export function nemotronHMetadata(c: ModelConfig): Metadata {
  const layers = Array.from({ length: c.layers }, (_, layer) => layer)
  const perLayer = (size: number, has: (layer: number) => boolean) =>
    ({ type: 'u32[]', value: layers.map((layer) => (has(layer) ? size : 0)) }) as const
  return {
    ...mamba2Metadata(c),
    'nemotron_h.attention.layer_norm_epsilon': f32(c.eps),
    'nemotron_h.attention.head_count_kv': perLayer(c.kvHeads, isNemotronAttention),
    'nemotron_h.feed_forward_length': perLayer(c.ffn, isNemotronFfn),
  }
}

/**
 * In-projection to z, x, B, C and dt, causal convolution over x, B and C, selective scan, gated norm, out-projection.
 */
function mixer(t: TensorList, c: ModelConfig, layer: number): void {
  const blk = `blk.${layer}`
  const inner = innerSize(c)
  const heads = inner / HEAD_SIZE
  const channels = inner + 2 * GROUPS * STATE_SIZE
  t.matrix(`${blk}.ssm_in.weight`, c.hidden, inner + channels + heads)
  t.small(`${blk}.ssm_conv1d.weight`, [CONV_KERNEL, channels], 0, 1 / Math.sqrt(CONV_KERNEL))
  t.small(`${blk}.ssm_conv1d.bias`, [channels], 0, 0.1)
  t.small(`${blk}.ssm_dt.bias`, [heads], -3, 0.5)
  t.small(`${blk}.ssm_a`, [1, heads], -1, 0.2)
  t.small(`${blk}.ssm_d`, [1, heads], 1, 0.2)
  t.small(`${blk}.ssm_norm.weight`, [inner / GROUPS, GROUPS], 1, 0.2)
  t.matrix(`${blk}.ssm_out.weight`, inner, c.hidden)
}

/** llama.cpp supports an expansion factor of 2 only, in granitehybrid. */
function innerSize(c: ModelConfig): number {
  return 2 * c.hidden
}

function isNemotronAttention(layer: number): boolean {
  return layer % 3 === 1
}

function isNemotronFfn(layer: number): boolean {
  return layer % 3 === 2
}
