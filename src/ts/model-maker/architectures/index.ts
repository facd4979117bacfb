/** From a configuration to metadata and tensors: which builder serves which architecture. */

import { bool, f32, type GgufValue, type Metadata, string, u32 } from '../gguf.js'
import { TensorList, type TensorPlan } from '../plan.js'
import type { Architecture, ModelConfig } from '../spec.js'
import { typeTraits } from '../types.js'
import { vocabularyMetadata } from '../vocabulary.js'
import { deltaNet, deltaNetMetadata } from './delta-net.js'
import { llama, mpt, mptMetadata, phi3 } from './dense.js'
import { gemma, gemma2Metadata } from './gemma.js'
import { gemma4, gemma4Metadata } from './gemma4.js'
import { lfm2, lfm2Metadata } from './lfm2.js'
import { jamba, jambaMetadata, mamba, mambaMetadata } from './mamba.js'
import {
  falconH1,
  graniteHybrid,
  graniteHybridMetadata,
  mamba2Metadata,
  nemotronH,
  nemotronHMetadata,
} from './mamba2.js'
import { expertMetadata, gptOss, qwen3moe } from './moe.js'
import { cohere2, cohere2Metadata, exaone4, llama4, llama4Metadata, olmo2 } from './windows.js'

interface Builder {
  tensors(list: TensorList, config: ModelConfig): void
  /** What the architecture needs beyond the common keys. */
  metadata?(config: ModelConfig): Metadata
}

const builders: Record<Architecture, Builder> = {
  llama: { tensors: llama },
  mistral3: { tensors: llama },
  qwen2: { tensors: llama },
  qwen3: { tensors: llama },
  qwen3moe: { tensors: qwen3moe, metadata: expertMetadata },
  phi3: { tensors: phi3 },
  gemma2: { tensors: gemma, metadata: gemma2Metadata },
  gemma3: { tensors: gemma },
  gemma4: { tensors: gemma4, metadata: gemma4Metadata },
  cohere2: { tensors: cohere2, metadata: cohere2Metadata },
  olmo2: { tensors: olmo2 },
  exaone4: { tensors: exaone4 },
  llama4: { tensors: llama4, metadata: (c) => ({ ...expertMetadata(c), ...llama4Metadata() }) },
  'gpt-oss': { tensors: gptOss, metadata: expertMetadata },
  mpt: { tensors: mpt, metadata: mptMetadata },
  mamba: { tensors: mamba, metadata: mambaMetadata },
  jamba: { tensors: jamba, metadata: jambaMetadata },
  lfm2: { tensors: lfm2, metadata: lfm2Metadata },
  lfm2moe: { tensors: lfm2, metadata: lfm2Metadata },
  qwen35: { tensors: deltaNet, metadata: deltaNetMetadata },
  qwen35moe: { tensors: deltaNet, metadata: deltaNetMetadata },
  qwen3next: { tensors: deltaNet, metadata: deltaNetMetadata },
  granitehybrid: { tensors: graniteHybrid, metadata: graniteHybridMetadata },
  'falcon-h1': { tensors: falconH1, metadata: mamba2Metadata },
  nemotron_h: { tensors: nemotronH, metadata: nemotronHMetadata },
}

export interface ModelPlan {
  readonly metadata: Metadata
  readonly tensors: readonly TensorPlan[]
}

/** Metadata and tensors of a model, in file order. */
export function planModel(config: ModelConfig): ModelPlan {
  const builder = builders[config.arch]
  const list = new TensorList(config)
  builder.tensors(list, config)
  const metadata = {
    'general.architecture': string(config.arch),
    'general.name': string(config.name),
    'general.file_type': u32(typeTraits[config.type].fileType),
    'general.quantization_version': u32(2),
    ...shapeMetadata(config),
    ...builder.metadata?.(config),
    ...vocabularyMetadata(config.vocab, config.addBos),
    ...config.metadata,
  }
  return { metadata, tensors: list.tensors }
}

/** The keys that most architectures read. */
function shapeMetadata(c: ModelConfig): Metadata {
  const entries: Record<string, GgufValue> = {
    context_length: u32(c.context),
    embedding_length: u32(c.hidden),
    block_count: u32(c.layers),
    feed_forward_length: u32(c.ffn),
    vocab_size: u32(c.vocab),
    [c.arch === 'mpt' ? 'attention.layer_norm_epsilon' : 'attention.layer_norm_rms_epsilon']: f32(c.eps),
  }
  if (c.arch !== 'mamba') {
    entries['attention.head_count'] = u32(c.heads)
    entries['attention.head_count_kv'] = u32(c.kvHeads)
    entries['attention.key_length'] = u32(c.headDim)
    entries['attention.value_length'] = u32(c.headDim)
    entries['attention.causal'] = bool(true)
    entries['rope.dimension_count'] = u32(c.headDim)
    entries['rope.freq_base'] = f32(c.ropeBase)
  }
  if (c.slidingWindow > 0) {
    entries['attention.sliding_window'] = u32(c.slidingWindow)
    entries['attention.sliding_window_pattern'] = u32(c.slidingPattern)
  }
  return Object.fromEntries(Object.entries(entries).map(([key, value]) => [`${c.arch}.${key}`, value]))
}
