// A GGUF file that says what a tiny model is and has no tensors: what any architecture asks for, so that a row of the
// table names only what it has of its own.

import { bool, f32, type GgufValue, type Metadata, string, u32 } from '../../src/ts/model-maker/gguf.js'
import { MIN_VOCAB, vocabularyMetadata } from '../../src/ts/model-maker/vocabulary.js'

const HIDDEN = 128
const HEADS = 4
const HEAD_SIZE = HIDDEN / HEADS

const common: Metadata = {
  context_length: u32(4096),
  vocab_size: u32(MIN_VOCAB),
  embedding_length: u32(HIDDEN),
  feed_forward_length: u32(192),
  block_count: u32(2),
  'attention.head_count': u32(HEADS),
  'attention.head_count_kv': u32(HEADS / 2),
  'attention.key_length': u32(HEAD_SIZE),
  'attention.value_length': u32(HEAD_SIZE),
  'attention.layer_norm_epsilon': f32(1e-5),
  'attention.layer_norm_rms_epsilon': f32(1e-5),
  'rope.dimension_count': u32(HEAD_SIZE),
  'rope.freq_base': f32(10000),
  logit_scale: f32(0.5),
}

/** What mixtures of experts ask for. */
export const experts: Metadata = {
  expert_count: u32(4),
  expert_used_count: u32(2),
  expert_feed_forward_length: u32(64),
  expert_shared_count: u32(1),
  expert_shared_feed_forward_length: u32(64),
  expert_gating_func: u32(2), // sigmoid
  expert_weights_norm: bool(true),
  leading_dense_block_count: u32(1),
}

/**
 * All metadata of a tiny model. `own` has keys without the architecture's name in front, or with a slash to have none.
 */
export function tinyMetadata(arch: string, own: Metadata = {}): Metadata {
  const keys = Object.entries({ ...common, ...own })
  return {
    'general.architecture': string(arch),
    'general.name': string('random weights'),
    ...Object.fromEntries(
      keys.map(([key, value]): [string, GgufValue] => [
        key.startsWith('/') ? key.slice(1) : `${arch}.${key}`,
        value,
      ]),
    ),
    ...vocabularyMetadata(MIN_VOCAB, false),
  }
}
