// The architectures with plain KV caches: those that H2O serves, and those that it refuses with a reason. A row has
// what the metadata of a tiny model must say beside test/architectures/metadata.ts.

import type { Reason } from '../../src/ts/index.js'
import { bool, f32, type GgufValue, type Metadata, u32 } from '../../src/ts/model-maker/gguf.js'
import { experts } from './metadata.js'

export interface Row {
  /** Where an architecture has several rows. */
  name?: string
  arch: string
  own?: Metadata
  /** Of Q and of K: their product is the deviation of the logits where these are scaled by the size of a head. */
  gain?: number
}

export interface Refused extends Row {
  reason: Reason
}

const u32s = (...value: number[]): GgufValue => ({ type: 'u32[]', value })

const sections = { 'rope.dimension_sections': u32s(4, 6, 6, 0) }
const everyHead = { 'attention.head_count_kv': u32(4) }
const granite = { 'attention.scale': f32(0.25), residual_scale: f32(0.5), embedding_scale: f32(2) }
/** The one activation whose keys stand without the architecture's name. */
const xielu = Object.fromEntries(
  ['alpha_n', 'alpha_p', 'beta', 'eps'].map((key) => [`/xielu.${key}`, f32(key === 'eps' ? 1e-6 : 0.8)]),
)
/** One more layer, for the prediction of a second token: not part of the trunk. */
const nextn = { ...experts, block_count: u32(3), nextn_predict_layers: u32(1) }
/** Queries are scaled by their position. */
const temperature = {
  'attention.temperature_scale': f32(0.5),
  'rope.scaling.original_context_length': u32(64),
}
/** Latent attention that is unfolded before it goes into the cache: heads of K and V differ in size. */
const unfolded = {
  ...everyHead,
  'attention.q_lora_rank': u32(32),
  'attention.kv_lora_rank': u32(32),
  'attention.key_length': u32(48),
  'rope.dimension_count': u32(16),
}

const dense = (archs: string): Row[] => archs.split(' ').map((arch) => ({ arch }))
const mixtures = (archs: string): Row[] => archs.split(' ').map((arch) => ({ arch, own: experts }))

export const covered: Row[] = [
  ...dense(
    'llama baichuan qwen qwen2 qwen3 phi2 phi3 glm4 chatglm gemma command-r ernie4_5 seed_oss exaone arcee stablelm',
  ),
  ...dense(
    'internlm2 starcoder starcoder2 gpt2 falcon nemotron bitnet xverse orion olmo plamo codeshell jais2',
  ),
  ...dense('hunyuan-dense maincoder pangu-embedded nanbeige talkie minicpm cogvlm pockettts'),
  // with a window in the file, these have a window cache beside the plain one
  ...dense('olmo2 exaone4 gemma3 plamo3'),
  ...mixtures('qwen2moe qwen3moe minimax-m2 hunyuan-moe bailingmoe bailingmoe2 deepseek arctic phimoe'),
  ...mixtures('mellum smallthinker laguna'),
  { arch: 'mistral3', own: temperature },
  { arch: 'smollm3', own: { block_count: u32(4) } },
  { arch: 'olmoe', own: { ...experts, ...everyHead } },
  { arch: 'dots1', own: { ...experts, ...everyHead } },
  { arch: 'granite', own: granite },
  { arch: 'granitemoe', own: { ...experts, ...granite } },
  { arch: 'apertus', own: xielu },
  { arch: 'gptneox', own: { use_parallel_residual: bool(true) } },
  { arch: 'ernie4_5-moe', own: { ...experts, interleave_moe_layer_step: u32(1) } },
  { arch: 'grovemoe', own: { ...experts, expert_group_scale: f32(1), experts_per_group: u32(2) } },
  { arch: 'dbrx', own: { ...experts, 'attention.clamp_kqv': f32(6) } },
  { arch: 'qwen2vl', own: sections },
  { arch: 'qwen3vl', own: sections },
  { arch: 'qwen3vlmoe', own: { ...experts, ...sections } },
  { arch: 'hunyuan_vl', own: sections },
  { arch: 'paddleocr', own: sections },
  { name: 'nanbeige, its layers twice', arch: 'nanbeige', own: { num_loops: u32(2) } },
  { arch: 'glm4moe', own: nextn },
  { arch: 'hy_v3', own: nextn },
  {
    name: 'hrm_text: two blocks, each of them four times',
    arch: 'hrm_text',
    own: {
      block_count: u32(8),
      'hrm.layers_per_stack': u32(1),
      'hrm.h_cycles': u32(2),
      'hrm.l_cycles': u32(3),
    },
  },
  {
    name: 'deci: heads per layer, and layers without attention',
    arch: 'deci',
    own: {
      block_count: u32(4),
      'attention.head_count': u32s(4, 0, 4, 4),
      'attention.head_count_kv': u32s(2, 0, 1, 0),
    },
  },
  {
    name: 'openelm: heads per layer',
    arch: 'openelm',
    own: {
      'attention.head_count': u32s(4, 6),
      'attention.head_count_kv': u32s(2, 3),
      feed_forward_length: u32s(128, 192),
    },
  },
  { arch: 'minicpm3', own: unfolded },
  { arch: 'plm', own: unfolded },
  { name: 'deepseek2 without MLA', arch: 'deepseek2', own: { ...experts, ...unfolded } },
]

const alibi = (archs: string): Refused[] =>
  archs.split(' ').map((arch) => ({
    arch,
    own: { 'attention.max_alibi_bias': f32(8) },
    reason: 'unsupported-attention',
  }))

/** Latent attention as it is: one head of K, of which V is a part. */
const latent = {
  'attention.head_count_kv': u32(1),
  'attention.q_lora_rank': u32(32),
  'attention.kv_lora_rank': u32(32),
  'attention.key_length': u32(48),
  'attention.value_length': u32(32),
  'attention.key_length_mla': u32(48),
  'attention.value_length_mla': u32(32),
  'rope.dimension_count': u32(16),
}

export const refused: Refused[] = [
  ...alibi('mpt bloom refact jais'),
  { name: 'baichuan 13B', arch: 'baichuan', own: { block_count: u32(40) }, reason: 'unsupported-attention' },
  { arch: 'grok', own: experts, reason: 'unsupported-architecture' },
  {
    name: 'deepseek2 with MLA',
    arch: 'deepseek2',
    own: { ...experts, ...latent },
    reason: 'unsupported-attention',
  },
  { arch: 'mistral4', own: { ...experts, ...latent }, reason: 'unsupported-attention' },
  {
    arch: 'graniteswitch',
    own: {
      'adapters.count': u32(1),
      'adapters.lora_rank': u32(4),
      'adapters.token_ids_activate': u32s(250),
      'adapters.token_ids_substitute': u32s(251),
    },
    reason: 'unsupported-architecture',
  },
]
