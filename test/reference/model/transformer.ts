// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// A forward pass in float64. How a query reads the cache is the caller's: see dense.ts, single-pass.ts, two-pass.ts.

import type { Attention } from './attention.js'
import { experts, feedForward } from './feed-forward.js'
import type { KvCache } from './kv-cache.js'
import { type Hparams, need, type ReferenceModel } from './model.js'
import { capped, linear, rmsNorm, sigmoid } from './ops.js'
import { recurrentLayer } from './recurrent.js'
import { rope } from './rope.js'

/** One pass of tokens through the network. */
export interface Pass {
  /** position of the first token */
  base: number
  attend: Attention
  /** where keys and values go, at the end; left out, none are made: the cache has those of these tokens already */
  store?: KvCache
}

/**
 * The logits of the tokens, [n tokens][n_vocab].
 * Layer by layer: all keys and values of the pass are stored first, then attention runs.
 */
export function forward(
  model: ReferenceModel,
  tokens: ArrayLike<number>,
  { base, attend, store }: Pass,
): Float64Array {
  const { hparams: h, weights } = model
  const embedding = need(weights, 'token_embd.weight')

  const x = new Float64Array(tokens.length * h.nEmbd)
  for (let i = 0; i < tokens.length; i++) {
    const row = embedding.data.subarray(tokens[i]! * h.nEmbd, (tokens[i]! + 1) * h.nEmbd)
    x.set(
      row.map((e) => e * (h.embeddingScale ?? 1)),
      i * h.nEmbd,
    )
  }

  for (let layer = 0; layer < h.nLayer; layer++) {
    const tensor = (name: string) => need(weights, `blk.${layer}.${name}`)
    const optional = (name: string) => weights.get(`blk.${layer}.${name}`)
    const norm = (y: Float64Array, name: string) => rmsNorm(y, tensor(name), h.normEps)

    const attention = (a: Float64Array): Float64Array => {
      if (store) {
        let k = linear(tensor('attn_k.weight'), a, optional('attn_k.bias'))
        if (optional('attn_k_norm.weight')) k = norm(k, 'attn_k_norm.weight')
        rope(k, h.nHeadKv, base, h)
        const v = linear(tensor('attn_v.weight'), a, optional('attn_v.bias'))
        store.append(layer, k, v, h.nHeadKv * h.headDim)
      }
      let [q, gate] = queries(h, linear(tensor('attn_q.weight'), a, optional('attn_q.bias')), tokens.length)
      if (optional('attn_q_norm.weight')) q = norm(q, 'attn_q_norm.weight')
      rope(q, h.nHead, base, h)
      let found = attend(layer, q, base)
      if (gate) found = found.map((value, i) => value * sigmoid(gate[i]!))
      return linear(tensor('attn_output.weight'), found, optional('attn_output.bias'))
    }
    const recurrence = (a: Float64Array): Float64Array => {
      if (!store) throw new Error('a recurrent layer sees each token once')
      return recurrentLayer(h, weights, store, layer, a)
    }

    const a = norm(x, 'attn_norm.weight')
    const mixed = optional('attn_q.weight') ? attention(a) : recurrence(a)
    // in a layer without ffn_norm, post_attention_norm is what goes before the feed-forward
    const isPost = optional('ffn_norm.weight') && optional('post_attention_norm.weight')
    add(x, isPost ? norm(mixed, 'post_attention_norm.weight') : mixed)

    const f = norm(x, optional('ffn_norm.weight') ? 'ffn_norm.weight' : 'post_attention_norm.weight')
    const fed = optional('ffn_gate_inp.weight') ? experts(h, tensor, f) : feedForward(h, tensor, f)
    add(x, optional('post_ffw_norm.weight') ? norm(fed, 'post_ffw_norm.weight') : fed)
  }

  const lastNorm = weights.get('output_norm.weight') ?? need(weights, 'token_embd_norm.weight')
  const last = rmsNorm(x, lastNorm, h.normEps)
  return linear(weights.get('output.weight') ?? embedding, last).map((z) => capped(z, h.outputCap))
}

/** Queries, and where a head's rows are twice as long, the gates that are the second halves of them. */
function queries(h: Hparams, y: Float64Array, nTokens: number): [Float64Array, Float64Array | undefined] {
  const width = h.nHead * h.headDim
  if (y.length === nTokens * width) return [y, undefined]
  const half = (index: number) =>
    Float64Array.from({ length: nTokens * width }, (_, i) => {
      const head = Math.floor(i / h.headDim)
      return y[(2 * head + index) * h.headDim + (i % h.headDim)]!
    })
  return [half(0), half(1)]
}

function add(x: Float64Array, y: Float64Array): void {
  for (let i = 0; i < x.length; i++) x[i]! += y[i]!
}
