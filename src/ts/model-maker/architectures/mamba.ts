/** State space models: mamba (recurrent only) and jamba (every second layer is attention, without rope). */

import { type Metadata, u32 } from '../gguf.js'
import type { TensorList } from '../plan.js'
import type { ModelConfig } from '../spec.js'
import { attention, embeddings, gatedFfn, isSecond, secondHeads } from './layers.js'

const CONV_KERNEL = 4
const STATE_SIZE = 16

export function mamba(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    t.norm(`blk.${layer}.attn_norm.weight`, c.hidden)
    mixer(t, c, layer)
  }
}

export function jamba(t: TensorList, c: ModelConfig): void {
  embeddings(t, c)
  for (let layer = 0; layer < c.layers; layer++) {
    const blk = `blk.${layer}`
    t.norm(`${blk}.attn_norm.weight`, c.hidden)
    if (isSecond(layer)) {
      attention(t, c, layer)
    } else {
      mixer(t, c, layer)
      t.norm(`${blk}.ssm_dt_norm.weight`, timeStepRank(c))
      t.norm(`${blk}.ssm_b_norm.weight`, STATE_SIZE)
      t.norm(`${blk}.ssm_c_norm.weight`, STATE_SIZE)
    }
    t.norm(`${blk}.ffn_norm.weight`, c.hidden)
    gatedFfn(t, c, layer)
  }
}

export function jambaMetadata(c: ModelConfig): Metadata {
  return { ...mambaMetadata(c), ...secondHeads(c) }
}

export function mambaMetadata(c: ModelConfig): Metadata {
  return {
    [`${c.arch}.ssm.conv_kernel`]: u32(CONV_KERNEL),
    [`${c.arch}.ssm.inner_size`]: u32(innerSize(c)),
    [`${c.arch}.ssm.state_size`]: u32(STATE_SIZE),
    [`${c.arch}.ssm.time_step_rank`]: u32(timeStepRank(c)),
  }
}

/** Mamba 1: in-projection to x and z, causal convolution, selective scan, out-projection. A is negative throughout. */
function mixer(t: TensorList, c: ModelConfig, layer: number): void {
  const blk = `blk.${layer}`
  const inner = innerSize(c)
  const rank = timeStepRank(c)
  t.matrix(`${blk}.ssm_in.weight`, c.hidden, 2 * inner)
  t.small(`${blk}.ssm_conv1d.weight`, [CONV_KERNEL, inner], 0, 1 / Math.sqrt(CONV_KERNEL))
  t.small(`${blk}.ssm_conv1d.bias`, [inner], 0, 0.1)
  t.small(`${blk}.ssm_x.weight`, [inner, rank + 2 * STATE_SIZE], 0, 1 / Math.sqrt(inner))
  t.small(`${blk}.ssm_dt.weight`, [rank, inner], 0, 0.5 / Math.sqrt(rank))
  t.small(`${blk}.ssm_dt.bias`, [inner], -3, 0.5)
  t.small(`${blk}.ssm_a`, [STATE_SIZE, inner], -4, 0.5)
  t.small(`${blk}.ssm_d`, [inner], 1, 0.2)
  t.matrix(`${blk}.ssm_out.weight`, inner, c.hidden)
}

/** llama.cpp supports an expansion factor of 2 only. */
function innerSize(c: ModelConfig): number {
  return 2 * c.hidden
}

function timeStepRank(c: ModelConfig): number {
  return Math.ceil(c.hidden / 16)
}
