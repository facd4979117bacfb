/** lfm2 and lfm2moe: gated short convolutions, and every second layer attention with normed heads. */

import { type Metadata, u32 } from '../gguf.js'
import type { TensorList } from '../plan.js'
import type { ModelConfig } from '../spec.js'
import { attention, expertFfn, gatedFfn, isSecond, secondHeads } from './layers.js'
import { expertMetadata } from './moe.js'

/** Taps of the convolution. */
const KERNEL = 3
const SIGMOID = 2

export function lfm2(t: TensorList, c: ModelConfig): void {
  t.tokens('token_embd.weight', c.embeddingType, c.readable && c.tied)
  t.norm('token_embd_norm.weight', c.hidden) // of the output, whatever its name
  if (!c.tied) t.tokens('output.weight', c.outputType, c.readable)
  for (let layer = 0; layer < c.layers; layer++) {
    const blk = `blk.${layer}`
    t.norm(`${blk}.attn_norm.weight`, c.hidden)
    if (isSecond(layer)) attention(t, c, layer, { headNorms: true })
    else shortConvolution(t, c, layer)
    t.norm(`${blk}.ffn_norm.weight`, c.hidden)
    if (c.arch === 'lfm2moe') {
      expertFfn(t, c, layer)
      t.small(`${blk}.exp_probs_b.bias`, [c.experts], 0, 0.1)
    } else {
      gatedFfn(t, c, layer)
    }
  }
}

export function lfm2Metadata(c: ModelConfig): Metadata {
  const metadata = { [`${c.arch}.shortconv.l_cache`]: u32(KERNEL), ...secondHeads(c) }
  if (c.arch === 'lfm2') return metadata
  return { ...metadata, ...expertMetadata(c), [`${c.arch}.expert_gating_func`]: u32(SIGMOID) }
}

/** out(c * conv(b * x)), with b, c and x of one projection. */
function shortConvolution(t: TensorList, c: ModelConfig, layer: number): void {
  const conv = `blk.${layer}.shortconv`
  t.matrix(`${conv}.in_proj.weight`, c.hidden, 3 * c.hidden)
  t.small(`${conv}.conv.weight`, [KERNEL, c.hidden], 0, 1 / Math.sqrt(KERNEL))
  t.matrix(`${conv}.out_proj.weight`, c.hidden, c.hidden)
}
