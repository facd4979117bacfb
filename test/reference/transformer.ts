// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The forward pass of one call, in float64. How a query reads the cache is the caller's: see dense.ts and h2o.ts.

import type { Attention } from './attention.js'
import type { KvCache } from './kv-cache.js'
import { need, type ReferenceModel } from './model.js'
import { linear, rmsNorm, silu } from './ops.js'
import { rope } from './rope.js'

/**
 * Appends the tokens at the cache's end and returns their logits, [n tokens][n_vocab].
 * Layer by layer: all keys and values of the call are stored first, then attention runs.
 */
export function forward(
  model: ReferenceModel,
  tokens: ArrayLike<number>,
  cache: KvCache,
  attend: Attention,
): Float64Array {
  const { hparams: h, weights } = model
  const embedding = need(weights, 'token_embd.weight')
  const base = cache.length

  const x = new Float64Array(tokens.length * h.nEmbd)
  for (let i = 0; i < tokens.length; i++) {
    x.set(embedding.data.subarray(tokens[i]! * h.nEmbd, (tokens[i]! + 1) * h.nEmbd), i * h.nEmbd)
  }

  for (let layer = 0; layer < h.nLayer; layer++) {
    const tensor = (name: string) => need(weights, `blk.${layer}.${name}`)
    const optional = (name: string) => weights.get(`blk.${layer}.${name}`)
    const norm = (y: Float64Array, name: string) => rmsNorm(y, tensor(name), h.normEps)

    // attention
    const a = norm(x, 'attn_norm.weight')
    let q = linear(tensor('attn_q.weight'), a, optional('attn_q.bias'))
    let k = linear(tensor('attn_k.weight'), a, optional('attn_k.bias'))
    const v = linear(tensor('attn_v.weight'), a, optional('attn_v.bias'))
    if (optional('attn_q_norm.weight')) q = norm(q, 'attn_q_norm.weight')
    if (optional('attn_k_norm.weight')) k = norm(k, 'attn_k_norm.weight')
    rope(q, h.nHead, base, h)
    rope(k, h.nHeadKv, base, h)
    cache.append(layer, k, v, h.nHeadKv * h.headDim)
    add(x, linear(tensor('attn_output.weight'), attend(layer, q, base), optional('attn_output.bias')))

    // feed-forward: down(silu(gate) * up)
    const f = norm(x, 'ffn_norm.weight')
    const gate = linear(tensor('ffn_gate.weight'), f)
    const up = linear(tensor('ffn_up.weight'), f)
    add(
      x,
      linear(
        tensor('ffn_down.weight'),
        gate.map((g, i) => silu(g) * up[i]!),
      ),
    )
  }

  const last = rmsNorm(x, need(weights, 'output_norm.weight'), h.normEps)
  return linear(weights.get('output.weight') ?? embedding, last)
}

function add(x: Float64Array, y: Float64Array): void {
  for (let i = 0; i < x.length; i++) x[i]! += y[i]!
}
