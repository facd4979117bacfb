// A model of the model maker as the reference reads it. Nothing is copied: craftWeights on the result changes the
// file that writeGguf makes of the model, as long as its type is F32.

import type { GgufModel } from '../../src/ts/model-maker/index.js'
import type { ReferenceModel } from './model.js'

const architectures = ['llama', 'qwen2', 'qwen3']

export function referenceOf({ config: c, tensors }: GgufModel): ReferenceModel {
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
    },
    weights: tensors,
  }
}
