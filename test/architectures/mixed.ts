// Architectures with sliding windows in some layers, and with recurrent ones: H2O is for the others.

import { f32, type GgufValue, u32 } from '../../src/ts/model-maker/gguf.js'
import { experts } from './metadata.js'
import type { Row } from './plain.js'

const u32s = (...value: number[]): GgufValue => ({ type: 'u32[]', value })

const bools = (...value: boolean[]): GgufValue => ({ type: 'bool[]', value })

const window = { 'attention.sliding_window': u32(32) }
const four = { ...window, block_count: u32(4) }

/** The last of five layers attends to all positions, with heads of another size. */
const gemma4 = {
  ...window,
  block_count: u32(5),
  embedding_length_per_layer_input: u32(32),
  'attention.shared_kv_layers': u32(0),
  'attention.key_length_swa': u32(16),
  'attention.value_length_swa': u32(16),
  'rope.dimension_count_swa': u32(16),
  'rope.freq_base_swa': f32(10000),
  'attention.sliding_window_pattern': bools(...Array.from({ length: 5 }, (_, il) => il % 5 < 4)),
}

const shared = {
  ...gemma4,
  block_count: u32(10),
  'attention.shared_kv_layers': u32(5),
  'attention.sliding_window_pattern': bools(...Array.from({ length: 10 }, (_, il) => il % 5 < 4)),
}

export const windows: Row[] = [
  { name: 'gemma2: capped logits', arch: 'gemma2', own: { ...window, attn_logit_softcapping: f32(4) } },
  { arch: 'gemma3', own: { ...window, block_count: u32(6) } },
  { name: 'gpt-oss: sinks', arch: 'gpt-oss', own: { ...experts, ...window } },
  { arch: 'cohere2', own: four },
  { arch: 'olmo2', own: four },
  { arch: 'exaone4', own: { ...window, block_count: u32(64) } },
  { arch: 'llama4', own: { ...experts, interleave_moe_layer_step: u32(2), block_count: u32(4) } },
  { arch: 'plamo3', own: { ...window, block_count: u32(8) } },
  { arch: 'smallthinker', own: { ...experts, ...four } },
  { arch: 'mellum', own: { ...experts, ...four } },
  { arch: 'laguna', own: { ...experts, ...four } },
  { arch: 'afmoe', own: { ...experts, ...four } },
  { arch: 'exaone-moe', own: { ...experts, ...four } },
  { arch: 'muse-glimmer', own: { ...window, 'attention.sliding_window_pattern': u32s(1, 0) } },
  { arch: 'mimo2', own: { ...experts, ...window, 'attention.sliding_window_pattern': u32s(1, 0) } },
  { arch: 'spark2_5', own: { ...window, 'attention.sliding_window_pattern': u32s(1, 0) } },
  { arch: 'cohere2moe', own: { ...experts, ...window, 'attention.sliding_window_pattern': u32s(1, 0) } },
  { arch: 'step35', own: { ...experts, ...window, 'attention.sliding_window_pattern': u32s(1, 0) } },
  { arch: 'granite_swa', own: { ...window, 'attention.sliding_window_pattern': u32s(1, 0) } },
  { arch: 'gemma4', own: gemma4, gain: 1.2 },
  { name: 'gemma4: layers read the K and V of others', arch: 'gemma4', own: shared, gain: 0.3 }, // its logits are not scaled
]

const kvEverySecond = { block_count: u32(4), 'attention.head_count_kv': u32s(0, 2, 0, 2) }
const ssm = {
  'ssm.conv_kernel': u32(4),
  'ssm.inner_size': u32(256),
  'ssm.state_size': u32(16),
  'ssm.time_step_rank': u32(8),
  'ssm.group_count': u32(2),
}
const delta = {
  block_count: u32(4),
  full_attention_interval: u32(2),
  'rope.dimension_sections': u32s(4, 6, 6, 0),
  'ssm.conv_kernel': u32(4),
  'ssm.inner_size': u32(128),
  'ssm.state_size': u32(32),
  'ssm.time_step_rank': u32(4),
  'ssm.group_count': u32(2),
}

export const recurrent: Row[] = [
  { arch: 'jamba', own: { ...ssm, ...kvEverySecond } },
  { arch: 'lfm2', own: { ...kvEverySecond, 'shortconv.l_cache': u32(3) } },
  { arch: 'lfm2moe', own: { ...experts, ...kvEverySecond, 'shortconv.l_cache': u32(3) } },
  { arch: 'granitehybrid', own: { ...ssm, ...kvEverySecond } },
  { arch: 'falcon-h1', own: ssm },
  {
    arch: 'nemotron_h',
    own: {
      ...ssm,
      ...kvEverySecond,
      'attention.head_count_kv': u32s(0, 2, 0, 0),
      feed_forward_length: u32s(0, 0, 192, 192),
    },
  },
  { arch: 'plamo2', own: { ...ssm, ...kvEverySecond, 'ssm.group_count': u32(0) } },
  { arch: 'qwen3next', own: { ...experts, ...delta } },
  { arch: 'qwen35', own: delta },
  { arch: 'qwen35moe', own: { ...experts, ...delta } },
]
