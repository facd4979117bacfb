// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// Weights for models and texts whose Heavy set keeps changing; the texts are in hot-text.ts.
//
// With random weights memory freezes after three chunks: scores never shrink, the votes of a chunk are spread over
// all members, and a newcomer starts with an average of one vote per query head. Three things keep it moving here:
//
//  1. A sink. The first token's key outshines every other, so once it is in memory it takes nearly all inter votes
//     and the other members hardly grow. It is the hot token of chunk 0 that survives to the end.
//  2. Hot tokens. A few at the begin of each chunk take most of the chunk's own attention, so a newcomer starts with
//     about S * group / (hot tokens per chunk) votes. The sink is not in the chunk and cannot take them.
//  3. A trend. Hot tokens come in levels, and every chunk's level is above the one before. So a new generation enters
//     over the oldest one still there, which was hot early only and leaves.
//
// A fourth thing makes mistakes loud: logits hardly read the embeddings, mostly what attention wrote. And what it wrote
// stays small beside them, so that a chunk without the sink (phase 1 of two-pass) leaves the next layer's keys hot.
//
// How: every query has the same large component along one direction of its head, keys have a component along it that
// a single embedding dimension of their token sets. The direction lies in the slowest RoPE pair, so distance hardly
// matters. Nothing writes into those embedding dimensions, so all layers see them unchanged. KV heads of even and
// odd index listen to different hot tokens. All else stays noise, different per head: half of the other dimensions hold
// that of the embeddings, the other half is left to attention and feed-forward.

import { Random } from '../../../src/ts/model-maker/index.js'
import { type Hparams, need, type ReferenceModel } from '../model/model.js'
import { ropePair } from '../model/rope.js'

/**
 * Token ids: the sink, then the hot tokens level by level, even for even KV heads and odd for odd ones; then all else.
 */
export const TOKEN_SINK = 8
export const TOKEN_HOT = 16
export const N_LEVELS = 48
export const TOKEN_PLAIN = TOKEN_HOT + 2 * N_LEVELS

const LEVEL_MIN = 0.5 // attention logits of hot keys, lowest and highest level
const LEVEL_MAX = 5.5
const SINK_LOGIT = 10.5
const QUERY = 4 // length of a query along the hot direction
const NOISE = 0.6 // standard deviation of the other components of queries and keys
const VALUE = 4 // standard deviation of values
const BALLAST = 4 // a component of all keys that no query sees: keeps the key norm (qwen3) near constant
const KEY_GAIN = 4 // weight of the hot direction in the key norm, over that of the others

const WRITE = 0.3 // gain of what attention and feed-forward write
const READ = 1 // gain at which queries and keys read that; makes layers depend on those before
const EMBD_OUTPUT = 0.03 // gain at which the logits read the embeddings' noise

// embedding dimensions with a meaning; the rest is one half embedding noise, one half what layers write
const DIM_QUERY = 0
const DIM_HOT = [1, 2]
const DIM_SINK = 3
const DIM_IDLE = 4 // read by nobody: fills up the sink's length, so that its value is zero as in trained models
const N_RESERVED = 5

const EMBD_HOT = 2.5 // embedding entry of the highest level
const EMBD_SINK = 4

/**
 * Overwrites embeddings and layers in place, for any model of the reference with hidden >= 32, headDim >= 8 and at
 * least 128 tokens. The output matrix stays as it is and must not be the embeddings'. Call it before the model is
 * written.
 */
export function craftWeights({ hparams: h, weights }: ReferenceModel, seed = 1): void {
  const random = new Random(seed, 'hot model')
  const gaussian = () =>
    Math.sqrt(-2 * Math.log(1 - random.uniform())) * Math.cos(2 * Math.PI * random.uniform())
  const fill = (name: string, value: (out: number, dim: number) => number) => {
    const { shape, data } = need(weights, name)
    for (let i = 0; i < data.length; i++) data[i] = value(Math.floor(i / shape[0]!), i % shape[0]!)
  }
  const fillOptional = (name: string, value: (dim: number) => number) => {
    if (weights.has(name)) fill(name, (_, dim) => value(dim))
  }
  const nNoise = Math.floor((h.nEmbd - N_RESERVED) / 2)
  const isNoise = (dim: number) => dim >= N_RESERVED && dim < N_RESERVED + nNoise
  const isWritten = (dim: number) => dim >= N_RESERVED + nNoise
  const nWritten = h.nEmbd - N_RESERVED - nNoise
  /** a row that turns the embeddings' noise into noise of this standard deviation */
  const noiseRow = (dim: number, deviation: number) =>
    isNoise(dim) ? (deviation * gaussian()) / Math.sqrt(h.nEmbd - N_RESERVED) : 0
  /** the same for queries and keys, which read what layers wrote, too */
  const attentionRow = (dim: number) =>
    isWritten(dim) ? (READ * gaussian()) / Math.sqrt(nWritten) : noiseRow(dim, NOISE)

  const [along, across] = ropePair(h.nRot / 2 - 1, h)
  const [ballast, unused] = ropePair(h.nRot / 2 - 2, h)
  const isReserved = (i: number) => i === along || i === across || i === ballast || i === unused
  const key = keyLength(h, weights.has('blk.0.attn_k_norm.weight'))

  craftEmbeddings(h, need(weights, 'token_embd.weight').data, nNoise, key, gaussian)
  fill('output_norm.weight', (_, dim) => (isWritten(dim) ? 1 : isNoise(dim) ? EMBD_OUTPUT : 0))
  for (let layer = 0; layer < h.nLayer; layer++) {
    const at = (name: string) => `blk.${layer}.${name}`
    fill(at('attn_norm.weight'), () => 1)
    fill(at('attn_q.weight'), (out, dim) => {
      const i = out % h.headDim
      if (i === along) return dim === DIM_QUERY ? QUERY : 0
      return isReserved(i) ? 0 : attentionRow(dim)
    })
    fill(at('attn_k.weight'), (out, dim) => {
      const i = out % h.headDim
      if (i === ballast) return dim === DIM_QUERY ? BALLAST : 0
      if (i !== along) return isReserved(i) ? 0 : attentionRow(dim)
      if (dim === DIM_SINK) return key(SINK_LOGIT) / EMBD_SINK
      return dim === DIM_HOT[Math.floor(out / h.headDim) % 2] ? key(LEVEL_MAX) / EMBD_HOT : 0
    })
    const bias = (dim: number) => (isReserved(dim % h.headDim) ? 0 : 0.1 * gaussian())
    for (const name of ['attn_q.bias', 'attn_k.bias', 'attn_v.bias']) fillOptional(at(name), bias)
    fillOptional(at('attn_q_norm.weight'), () => typicalRms(h, QUERY))
    fillOptional(at('attn_k_norm.weight'), (dim) => typicalRms(h, BALLAST) * (dim === along ? KEY_GAIN : 1))

    fill(at('attn_v.weight'), (_, dim) => noiseRow(dim, VALUE))
    const write = (out: number, nIn: number) => (isWritten(out) ? (WRITE * gaussian()) / Math.sqrt(nIn) : 0)
    fill(at('attn_output.weight'), (out) => write(out, h.nHead * h.headDim))
    fill(at('ffn_norm.weight'), (_, dim) => (isWritten(dim) ? 1 : 0))
    fill(at('ffn_down.weight'), (out) => write(out, need(weights, at('ffn_down.weight')).shape[0]!))
  }
}

/** Rows of equal length sqrt(nEmbd), so that RMSNorm leaves the entries with a meaning as they are. */
function craftEmbeddings(
  h: Hparams,
  data: Float32Array,
  nNoise: number,
  key: (logit: number) => number,
  gaussian: () => number,
): void {
  for (let token = 0; token * h.nEmbd < data.length; token++) {
    const row = data.subarray(token * h.nEmbd, (token + 1) * h.nEmbd)
    row.fill(0)
    row[DIM_QUERY] = 1
    if (token === TOKEN_SINK) {
      row[DIM_SINK] = EMBD_SINK
      row[DIM_IDLE] = Math.sqrt(h.nEmbd - 1 - EMBD_SINK ** 2)
      continue
    }
    const hot = token - TOKEN_HOT
    if (hot >= 0 && hot < 2 * N_LEVELS) {
      row[DIM_HOT[hot % 2]!] = (EMBD_HOT * key(levelLogit(Math.floor(hot / 2)))) / key(LEVEL_MAX)
    }
    const left = h.nEmbd - row.reduce((sum, x) => sum + x * x, 0)
    const noise = Array.from({ length: nNoise }, gaussian)
    const length = Math.hypot(...noise)
    for (const [i, x] of noise.entries()) row[N_RESERVED + i] = (x * Math.sqrt(left)) / length
  }
}

/** Of a query or key whose one large component has this length: what the norm divides by. */
function typicalRms(h: Hparams, length: number): number {
  return Math.sqrt(((h.headDim - 4) * NOISE ** 2 + length ** 2) / h.headDim)
}

/** Attention logit to a key's component along the hot direction, before the key norm where there is one. */
function keyLength(h: Hparams, normed: boolean): (logit: number) => number {
  return (logit) => {
    const component = (logit * Math.sqrt(h.headDim)) / QUERY
    if (!normed) return component
    // solve component = KEY_GAIN * rms * x / sqrt(rms^2 + x^2 / headDim) for x
    const rms = typicalRms(h, BALLAST)
    const ratio = component / (KEY_GAIN * rms)
    return (ratio * rms) / Math.sqrt(1 - ratio ** 2 / h.headDim)
  }
}

function levelLogit(level: number): number {
  return LEVEL_MIN + ((LEVEL_MAX - LEVEL_MIN) * level) / (N_LEVELS - 1)
}

/** The level whose keys' attention logit comes nearest. */
export function nearestLevel(logit: number): number {
  const level = Math.round(((logit - LEVEL_MIN) / (LEVEL_MAX - LEVEL_MIN)) * (N_LEVELS - 1))
  return Math.max(0, Math.min(N_LEVELS - 1, level))
}
