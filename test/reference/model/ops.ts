// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The few operations of a transformer, in float64 and in their textbook form.
// A matrix of activations is one Float64Array, row by row: [n rows][width].

import type { Tensor } from './model.js'

/** y[i] = W x[i] + b for each of the rows of x; W is [in, out] in ggml order, that is `out` rows of length `in`. */
export function linear(w: Tensor, x: Float64Array, bias?: Tensor): Float64Array {
  const [nIn, nOut] = w.shape as [number, number]
  const n = x.length / nIn
  const y = new Float64Array(n * nOut)
  for (let i = 0; i < n; i++) {
    for (let o = 0; o < nOut; o++) {
      let sum = bias ? bias.data[o]! : 0
      for (let k = 0; k < nIn; k++) sum += w.data[o * nIn + k]! * x[i * nIn + k]!
      y[i * nOut + o] = sum
    }
  }
  return y
}

/** Each row of length weight.length divided by its root mean square, times the weight. */
export function rmsNorm(x: Float64Array, weight: Tensor, eps: number): Float64Array {
  const width = weight.data.length
  const y = new Float64Array(x.length)
  for (let row = 0; row < x.length; row += width) {
    let squares = 0
    for (let k = 0; k < width; k++) squares += x[row + k]! ** 2
    const rms = Math.sqrt(squares / width + eps)
    for (let k = 0; k < width; k++) y[row + k] = (x[row + k]! / rms) * weight.data[k]!
  }
  return y
}

export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x))
}

export function silu(x: number): number {
  return x * sigmoid(x)
}

export function softplus(x: number): number {
  return Math.log1p(Math.exp(x))
}

/** The tanh form. ggml reads it from a table of F16 values, so an engine is only near it. */
export function gelu(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * x * (1 + 0.044715 * x * x)))
}

export function capped(x: number, cap: number | undefined): number {
  return cap ? cap * Math.tanh(x / cap) : x
}

/** `sink`: one more logit, whose weight is left out of the result. */
export function softmax(logits: readonly number[], sink = -Infinity): number[] {
  const max = logits.reduce((a, b) => Math.max(a, b), sink)
  const weights = logits.map((x) => Math.exp(x - max))
  const sum = weights.reduce((a, b) => a + b, Math.exp(sink - max))
  return weights.map((w) => w / sum)
}

export function dot(a: Float64Array, aAt: number, b: Float64Array, bAt: number, n: number): number {
  let sum = 0
  for (let k = 0; k < n; k++) sum += a[aAt + k]! * b[bAt + k]!
  return sum
}
