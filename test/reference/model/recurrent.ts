// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// Recurrent layers in float64. What a layer reads of the tokens before, it keeps for every position, like keys and
// values (kv-cache.ts); so going back is nothing special, and what comes out is a function of rows and no state to be
// right about.

import type { KvCache } from './kv-cache.js'
import { type Hparams, need, type Weights } from './model.js'
import { dot, linear, rmsNorm, sigmoid, silu, softplus } from './ops.js'

/**
 * A layer of the network in place of attention: x is [n tokens][nEmbd], the same shape out. Appends a row per token.
 */
export function recurrentLayer(
  h: Hparams,
  weights: Weights,
  cache: KvCache,
  layer: number,
  x: Float64Array,
): Float64Array {
  const isShort = weights.has(`blk.${layer}.shortconv.conv.weight`)
  return (isShort ? shortConvolution : deltaNet)(h, weights, cache, layer, x)
}

/** LFM2: out(c * conv(b * x)), with b, c and x of one projection. */
function shortConvolution(h: Hparams, weights: Weights, cache: KvCache, layer: number, x: Float64Array) {
  const tensor = (name: string) => need(weights, `blk.${layer}.shortconv.${name}.weight`)
  const width = h.nEmbd
  const bcx = linear(tensor('in_proj'), x)
  const n = bcx.length / (3 * width)
  const begin = cache.keys[layer]!.length

  const y = new Float64Array(n * width)
  for (let i = 0; i < n; i++) {
    const part = (index: number) => bcx.subarray((3 * i + index) * width, (3 * i + index + 1) * width)
    const [b, c, own] = [part(0), part(1), part(2)]
    const row = b.map((value, k) => value * own[k]!)
    cache.append(layer, row, row, width)
    const out = convolve(tensor('conv'), cache.keys[layer]!, begin + i)
    y.set(
      out.map((value, k) => value * c[k]!),
      i * width,
    )
  }
  return linear(tensor('out_proj'), y)
}

/**
 * Qwen3.5: q, k and v through a convolution; for each value head a matrix S from keys to values, and in order of the
 * tokens S = e^g S; S += k (beta (v - S k)); o = S q. Then a norm over each head, and the gate z.
 */
function deltaNet(h: Hparams, weights: Weights, cache: KvCache, layer: number, x: Float64Array) {
  const tensor = (name: string) => need(weights, `blk.${layer}.${name}`)
  const size = tensor('ssm_norm.weight').data.length
  const nHead = tensor('ssm_a').data.length
  const values = nHead * size
  const mixed = linear(tensor('attn_qkv.weight'), x)
  const keys = (tensor('attn_qkv.weight').shape[1]! - values) / 2
  const z = linear(tensor('attn_gate.weight'), x)
  const beta = linear(tensor('ssm_beta.weight'), x)
  const alpha = linear(tensor('ssm_alpha.weight'), x, tensor('ssm_dt.bias'))

  const n = z.length / values
  const begin = cache.keys[layer]!.length
  cache.append(layer, mixed, mixed, 2 * keys + values)
  // what each token does to S; the rows of values are there for it
  for (let i = 0; i < n; i++) {
    const step = new Float64Array(2 * nHead)
    for (let head = 0; head < nHead; head++) {
      step[head] = Math.exp(softplus(alpha[i * nHead + head]!) * tensor('ssm_a').data[head]!)
      step[nHead + head] = sigmoid(beta[i * nHead + head]!)
    }
    cache.values[layer]![begin + i] = step
  }

  const out = new Float64Array(n * values)
  const states = Array.from({ length: nHead }, () => new Float64Array(size * size)) // [value][key]
  for (let i = 0; i < begin + n; i++) {
    const row = convolve(tensor('ssm_conv1d.weight'), cache.keys[layer]!, i).map(silu)
    const step = cache.values[layer]![i]!
    for (let head = 0; head < nHead; head++) {
      const keyAt = (head % (keys / size)) * size
      const q = unit(row.subarray(keyAt, keyAt + size), h.normEps).map((value) => value / Math.sqrt(size))
      const k = unit(row.subarray(keys + keyAt, keys + keyAt + size), h.normEps)
      const s = states[head]!
      for (let r = 0; r < size; r++) {
        for (let c = 0; c < size; c++) s[r * size + c]! *= step[head]!
        const error = row[2 * keys + head * size + r]! - dot(s, r * size, k, 0, size)
        for (let c = 0; c < size; c++) s[r * size + c]! += step[nHead + head]! * error * k[c]!
        if (i >= begin) out[(i - begin) * values + head * size + r] = dot(s, r * size, q, 0, size)
      }
    }
  }
  const normed = rmsNorm(out, tensor('ssm_norm.weight'), h.normEps)
  return linear(
    tensor('ssm_out.weight'),
    normed.map((value, i) => value * silu(z[i]!)),
  )
}

/** The causal convolution of each channel at position i; what is before the first row is zero. */
function convolve(
  { shape, data }: { shape: readonly number[]; data: Float32Array },
  rows: readonly Float64Array[],
  i: number,
): Float64Array {
  const [taps, channels] = shape as [number, number]
  return Float64Array.from({ length: channels }, (_, channel) => {
    let sum = 0
    for (let j = Math.max(0, taps - 1 - i); j < taps; j++) {
      sum += data[channel * taps + j]! * rows[i - taps + 1 + j]![channel]!
    }
    return sum
  })
}

function unit(x: Float64Array, eps: number): Float64Array {
  const length = Math.sqrt(dot(x, 0, x, 0, x.length) + eps)
  return x.map((value) => value / length)
}
