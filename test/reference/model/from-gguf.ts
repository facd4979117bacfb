// A model of the model maker as the reference reads it. Nothing is copied: craftWeights on the result changes the
// file that writeGguf makes of the model, as long as its type is F32.

import type { GgufModel, ModelConfig } from '../../../src/ts/model-maker/index.js'
import type { ReferenceModel } from './model.js'

const architectures = ['llama', 'qwen2', 'qwen3', 'gemma2', 'gemma3', 'gpt-oss', 'lfm2', 'qwen35']

export function referenceOf({ config: c, metadata, tensors }: GgufModel): ReferenceModel {
  const capOf = (what: string) => metadata[`${c.arch}.${what}_logit_softcapping`]?.value as number
  if (!architectures.includes(c.arch)) throw new RangeError(`the reference knows no ${c.arch}`)
  return {
    hparams: {
      nLayer: c.layers,
      nEmbd: c.hidden,
      nHead: c.heads,
      nHeadKv: c.kvHeads,
      headDim: c.headDim,
      nRot: c.headDim,
      ropeBase: c.ropeBase,
      ropeMode: c.arch === 'llama' ? 'norm' : 'neox',
      normEps: Math.fround(c.eps),
      ...(c.slidingWindow > 0 && { windows: windowsOf(c) }),
      ...(c.arch.startsWith('gemma') && {
        embeddingScale: Math.fround(Math.sqrt(c.hidden)),
        activation: 'gelu' as const,
      }),
      ...(c.arch === 'gemma2' && { attentionCap: capOf('attn'), outputCap: capOf('final') }),
      nExpertUsed: c.expertsUsed,
    },
    weights: tensors,
  }
}

function windowsOf(c: ModelConfig): number[] {
  const isFull = (layer: number) => c.slidingPattern > 0 && (layer + 1) % c.slidingPattern === 0
  return Array.from({ length: c.layers }, (_, layer) => (isFull(layer) ? 0 : c.slidingWindow))
}
