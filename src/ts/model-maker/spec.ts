/** What can be asked for, and what is made of it: every default and every check is here. */

import type { Metadata } from './gguf.js'
import { type TensorType, typeTraits } from './types.js'
import { MIN_VOCAB } from './vocabulary.js'

/**
 * llama (also what Mistral 7B is), mistral3, qwen2, qwen3, qwen3moe, phi3: dense attention over a plain KV cache.
 * gemma2, gemma3, gemma4, gpt-oss, cohere2, olmo2, exaone4, llama4: interleaved sliding windows (gpt-oss with attention
 * sinks; olmo2 if it has a window, exaone4 with 64 layers). mpt: ALiBi.
 * mamba: recurrent. The hybrids have recurrent layers and attention: jamba (Mamba), lfm2 and lfm2moe (short
 * convolutions), qwen35, qwen35moe and qwen3next (gated delta nets), granitehybrid, falcon-h1 and nemotron_h (Mamba 2).
 */
export const architectures = [
  'llama',
  'mistral3',
  'qwen2',
  'qwen3',
  'qwen3moe',
  'phi3',
  'gemma2',
  'gemma3',
  'gemma4',
  'gpt-oss',
  'cohere2',
  'olmo2',
  'exaone4',
  'llama4',
  'mpt',
  'mamba',
  'jamba',
  'lfm2',
  'lfm2moe',
  'qwen35',
  'qwen35moe',
  'qwen3next',
  'granitehybrid',
  'falcon-h1',
  'nemotron_h',
] as const
export type Architecture = (typeof architectures)[number]

/** Changes a tensor's values in place before they are rounded to their type. `shape` is in ggml's order. */
export type Edit = (name: string, values: Float32Array, shape: readonly number[]) => void

/** Everything but `arch` has a default; `{ arch: 'llama' }` is a tiny model that runs. */
export interface ModelSpec {
  arch: Architecture
  /** 2 */
  layers?: number
  /** 128 */
  hidden?: number
  /** Query heads: 4 */
  heads?: number
  /** Key/value heads: half of `heads`, or `heads` where that is odd. */
  kvHeads?: number
  /** hidden / heads. Must be that in qwen2, phi3, mpt, jamba, lfm2, lfm2moe, cohere2, olmo2 and exaone4. */
  headDim?: number
  /** Inner size of the FFN, of one expert for mixtures: 2 * hidden */
  ffn?: number
  /** Vocabulary size, at least 258: bytes, BOS, EOS, and from 258 on unused tokens with all-zero weights. */
  vocab?: number
  /** Training context: 32768 */
  context?: number
  /** Type of the matrices: 'f32'. Norms, biases, routers and other small weights are always F32. */
  type?: TensorType
  /** Type of token_embd: `type` */
  embeddingType?: TensorType
  /** Type of output: `type` */
  outputType?: TensorType
  /**
   * The token embedding is the output matrix too: false (always so for gemma2 and cohere2, never for gpt-oss and
   * olmo2).
   */
  tied?: boolean
  /** The tokenizer prepends BOS: false */
  addBos?: boolean
  /** Any integer of up to 53 bits: 1 */
  seed?: number
  /** 10000 */
  ropeBase?: number
  /** Epsilon of every norm: 1e-5 */
  eps?: number
  /**
   * Standard deviation of the attention logits, whatever the architecture: 2. At 0.5 attention is near uniform,
   * from 5 on most queries look at a handful of keys.
   */
  attentionGain?: number
  /**
   * Output rows of everything but printable ASCII and line feed are an eighth of the others', so that a random
   * model writes readable characters and does not end by chance: true
   */
  readable?: boolean
  /**
   * Window of the sliding layers: 128 for gemma2, gemma3, gemma4, gpt-oss and cohere2. 0 makes gemma3 a model without
   * windows. llama4 has 8192 whatever is given.
   * phi3 takes it too, but llama.cpp v0.5.0 knows better and ignores it there.
   */
  slidingWindow?: number
  /** Every n-th layer attends to everything, 0: none does. 2, gemma3: 6 or the number of layers; llama4: 4 */
  slidingPattern?: number
  /** gemma4: head size of the sliding layers: headDim */
  windowHeadDim?: number
  /** gemma4: the last so many layers read keys and values of the last two that have their own: 0 */
  sharedKvLayers?: number
  /** Experts of mixtures (qwen3moe, gpt-oss, llama4, lfm2moe, qwen35moe, qwen3next): 4 */
  experts?: number
  /** Experts per token: 2 */
  expertsUsed?: number
  /**
   * general.name: 'random weights'. llama.cpp's tokenizer acts on some names; one that holds "phi3" or "phi-3" fails.
   */
  name?: string
  /** Metadata to add or replace, by full key. */
  metadata?: Metadata
  /** Crafts inputs: called once per tensor. A big model's tensors are then made whole, one at a time. */
  edit?: Edit
}

/** A spec with every choice made: what a reference implementation needs to know. */
export type ModelConfig = Readonly<Required<Omit<ModelSpec, 'edit'>>> & { readonly edit: Edit | undefined }

const windowed: readonly Architecture[] = ['gemma2', 'gemma3', 'gemma4', 'gpt-oss', 'cohere2']
const alwaysTied: readonly Architecture[] = ['gemma2', 'cohere2']
const neverTied: readonly Architecture[] = ['gpt-oss', 'olmo2']
/** llama.cpp takes hidden for heads * headDim in these. */
const squareAttention: readonly Architecture[] = [
  ...(['qwen2', 'phi3', 'mpt', 'jamba', 'lfm2', 'lfm2moe', 'cohere2', 'olmo2', 'exaone4'] as const),
]
/** A model of one layer would lack one of the two kinds; falcon-h1 has both in each. */
const twoKinds: readonly Architecture[] = [
  ...(['jamba', 'lfm2', 'lfm2moe', 'qwen35', 'qwen35moe', 'qwen3next'] as const),
  ...(['granitehybrid', 'nemotron_h'] as const),
]

/** Fills in the defaults. Throws a RangeError where llama.cpp could not load the result. */
export function resolveSpec(spec: ModelSpec): ModelConfig {
  const { arch, hidden = 128, heads = 4, layers = 2, type = 'f32' } = spec
  const config: ModelConfig = {
    arch,
    layers,
    hidden,
    heads,
    kvHeads: spec.kvHeads ?? (heads % 2 === 0 ? heads / 2 : heads),
    headDim: spec.headDim ?? hidden / heads,
    ffn: spec.ffn ?? 2 * hidden,
    vocab: spec.vocab ?? MIN_VOCAB,
    context: spec.context ?? 32768,
    type,
    embeddingType: spec.embeddingType ?? type,
    outputType: spec.outputType ?? type,
    tied: alwaysTied.includes(arch) || (!neverTied.includes(arch) && (spec.tied ?? false)),
    addBos: spec.addBos ?? false,
    seed: spec.seed ?? 1,
    ropeBase: spec.ropeBase ?? 10000,
    eps: spec.eps ?? 1e-5,
    attentionGain: spec.attentionGain ?? 2,
    readable: spec.readable ?? true,
    slidingWindow: spec.slidingWindow ?? (windowed.includes(arch) ? 128 : 0),
    slidingPattern:
      spec.slidingPattern ??
      (arch === 'gemma3' ? Math.min(6, Math.max(2, layers)) : arch === 'llama4' ? 4 : 2),
    windowHeadDim: spec.windowHeadDim ?? spec.headDim ?? hidden / heads,
    sharedKvLayers: spec.sharedKvLayers ?? 0,
    experts: spec.experts ?? 4,
    expertsUsed: spec.expertsUsed ?? 2,
    name: spec.name ?? 'random weights',
    metadata: spec.metadata ?? {},
    edit: spec.edit,
  }
  check(config)
  return config
}

function check(c: ModelConfig): void {
  const must = (holds: boolean, message: string): void => {
    if (!holds) throw new RangeError(`${c.arch}: ${message}`)
  }
  must(architectures.includes(c.arch), `unknown architecture; one of ${architectures.join(', ')}`)
  for (const type of [c.type, c.embeddingType, c.outputType]) must(type in typeTraits, `unknown type ${type}`)
  for (const key of ['layers', 'hidden', 'heads', 'kvHeads', 'headDim', 'ffn', 'vocab', 'context'] as const) {
    must(Number.isInteger(c[key]) && c[key] > 0, `${key} must be a positive integer, is ${c[key]}`)
  }
  must(Number.isSafeInteger(c.seed), `seed must be an integer, is ${c.seed}`)
  must(c.headDim % 2 === 0, `headDim must be even, is ${c.headDim}`)
  must(c.heads % c.kvHeads === 0, `heads (${c.heads}) must be a multiple of kvHeads (${c.kvHeads})`)
  must(c.vocab >= MIN_VOCAB, `vocab must be at least ${MIN_VOCAB}, is ${c.vocab}`)
  must(!/phi-?3/i.test(c.name), `llama.cpp would look for Phi-3's own tokens because of the name "${c.name}"`)
  must(c.expertsUsed <= c.experts, `expertsUsed (${c.expertsUsed}) exceeds experts (${c.experts})`)
  must(c.layers > 1 || !twoKinds.includes(c.arch), 'needs two layers, one recurrent and one of attention')
  must(c.slidingWindow > 0 || c.arch === 'gemma3' || !windowed.includes(c.arch), 'needs a sliding window')
  must(
    c.sharedKvLayers === 0 ||
      (c.arch === 'gemma4' &&
        c.slidingPattern > 1 &&
        c.layers - c.sharedKvLayers >= 2 &&
        (c.layers - c.sharedKvLayers) % c.slidingPattern === 0),
    'sharedKvLayers must leave a sliding layer and behind it a full one',
  )
  must(
    c.slidingWindow === 0 || c.slidingPattern !== 1,
    'slidingPattern 1 leaves no sliding layer: llama.cpp aborts',
  )
  must(
    !squareAttention.includes(c.arch) || c.heads * c.headDim === c.hidden,
    `heads (${c.heads}) * headDim (${c.headDim}) must be hidden (${c.hidden})`,
  )
}
