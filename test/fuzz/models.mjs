// The models that get mutated: all architectures that the model maker writes, and those whose tensors have the same
// names.

import { architectures } from '../../dist/model-maker/index.js'

const SHAPE = { hidden: 64, heads: 4, vocab: 300 }

/** Its fourth layer is the first without a window, and llama.cpp cannot do without one. */
const LAYERS = { llama4: { layers: 4 } }

/** [architecture, the one of the model maker that has its tensors] */
const ALIASES = [
  ...[
    'baichuan',
    'deci',
    'ernie4_5',
    'exaone',
    'granite',
    'granitemoe',
    'internlm2',
    'minicpm',
    'nanbeige',
    'refact',
  ],
  ...['smollm3', 'xverse'],
].map((name) => [name, 'llama'])
ALIASES.push(
  ...['hunyuan-dense', 'hy_v3', 'maincoder'].map((name) => [name, 'qwen3']),
  ['mellum', 'qwen3moe'],
  ['chatglm', 'phi3'],
  ['arcee', 'mpt'],
)

/** Keys that an architecture needs beside those of the one whose tensors it has. */
const MORE = {
  'attention.layer_norm_epsilon': { type: 'f32', value: 1e-5 },
  'attention.layer_norm_rms_epsilon': { type: 'f32', value: 1e-5 },
  logit_scale: { type: 'f32', value: 1 },
  leading_dense_block_count: { type: 'u32', value: 0 },
  expert_feed_forward_length: { type: 'u32', value: 128 },
}

export const modelNames = [...architectures, ...ALIASES.map(([name]) => name)]

/** What fuzzModel() takes. */
export function modelNamed(name) {
  const alias = ALIASES.find(([own]) => own === name)
  if (!alias) return { spec: { arch: name, ...SHAPE, ...LAYERS[name] } }
  return { spec: { arch: alias[1], ...SHAPE }, rename: name, more: MORE }
}
