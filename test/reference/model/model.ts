// What the reference takes for a model: hyperparameters and weights under their GGUF names, nothing else.
// Covers llama, qwen2 and qwen3 (dense): RMSNorm, RoPE, grouped queries, SwiGLU. And gemma2, gemma3 and gpt-oss:
// sliding windows, capped logits, sinks, GELU, experts. And lfm2 and qwen35: recurrent layers, gated attention. Which
// norms and layers there are its weights say.

/** Sizes and constants of a model, as its GGUF states them. */
export interface Hparams {
  nLayer: number
  nEmbd: number
  nHead: number
  nHeadKv: number
  headDim: number
  /** dimensions of a head that RoPE turns; headDim for all three architectures */
  nRot: number
  ropeBase: number
  /** 'norm' turns adjacent pairs (llama), 'neox' turns halves (qwen2, qwen3, phi3) */
  ropeMode: 'norm' | 'neox'
  normEps: number
  /** of each layer: how many positions up to its own a query sees, 0: all of them. Left out: all of them, everywhere */
  windows?: readonly number[]
  /** attention logits z become cap * tanh(z / cap) */
  attentionCap?: number
  /** the same of the model's logits */
  outputCap?: number
  /** embeddings are multiplied by it: 1 */
  embeddingScale?: number
  /** of the feed-forward's gate: silu */
  activation?: 'silu' | 'gelu'
  /** experts of a token, where layers have some */
  nExpertUsed?: number
}

/** ggml order: shape[0] is the input dimension and varies fastest. A matrix is shape[1] rows of shape[0]. */
export interface Tensor {
  shape: readonly number[]
  data: Float32Array
}

/** By GGUF name: token_embd.weight, blk.0.attn_q.weight, ..., output_norm.weight, output.weight (tied if absent). */
export type Weights = ReadonlyMap<string, Tensor>

export interface ReferenceModel {
  hparams: Hparams
  weights: Weights
}

export function need(weights: Weights, name: string): Tensor {
  const tensor = weights.get(name)
  if (!tensor) throw new Error(`the model has no tensor ${name}`)
  return tensor
}
