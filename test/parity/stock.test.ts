// Against the unpatched pin: what H2O does not serve is stock llama.cpp, to the bit.

import { expect, test } from 'vitest'
import type { ContextOptions, KvType } from '../../src/ts/index.js'
import type { ModelSpec } from '../../src/ts/model-maker/index.js'
import { modelFile, open, randomTokens } from '../engine/support.js'
import { selections } from '../engine/ways.js'
import { stockLogits } from './stock.js'

const S = 64
const N_BATCH = 4 * S

interface Settings {
  flashAttn: 'on' | 'off'
  type: KvType
}

/** Logits of all tokens by stock llama.cpp. */
const stock = (model: string, tokens: number[], s: Settings) =>
  stockLogits(model, tokens, { nBatch: N_BATCH, nUbatch: S, nThreads: 2, ...s })

/** The same by the addon, with what each call said of itself. */
async function ours(model: string, tokens: number[], settings: Settings, h2o: ContextOptions['h2o']) {
  const { flashAttn, type } = settings
  const context = await open({
    model,
    nCtx: 1024,
    nBatch: N_BATCH,
    nUbatch: S,
    flashAttn,
    typeK: type,
    typeV: type,
    h2o: h2o ?? false,
    upstreamProducts: true,
  })
  const logits: number[] = []
  const calls = []
  for (let i = 0; i < tokens.length; i += N_BATCH) {
    const result = await context.decode(tokens.slice(i, i + N_BATCH), { logits: 'all' })
    logits.push(...(result.logits as Float32Array))
    calls.push(result.call)
  }
  return { logits: Float32Array.from(logits), calls }
}

const settings: Settings[] = [
  { flashAttn: 'off', type: 'f32' },
  { flashAttn: 'off', type: 'f16' },
  { flashAttn: 'on', type: 'f16' },
  { flashAttn: 'on', type: 'q8_0' },
]

const served: ModelSpec[] = [
  ...(['llama', 'qwen2', 'qwen3', 'qwen3moe', 'phi3'] as const).map((arch) => ({ arch })),
  { arch: 'jamba', layers: 8 },
]

const covered = (['f32', 'f16', 'q8_0'] as const).flatMap((weights) =>
  served.flatMap((spec) => settings.map((s) => ({ spec, weights, ...s }))),
)

const few: Settings[] = [
  { flashAttn: 'off', type: 'f32' },
  { flashAttn: 'on', type: 'f16' },
]

const windowed: ModelSpec[] = [
  { arch: 'gemma2' },
  { arch: 'gemma3', layers: 6 },
  { arch: 'gemma4', layers: 6, sharedKvLayers: 2, headDim: 64, windowHeadDim: 32 },
  { arch: 'gpt-oss' },
  { arch: 'cohere2' },
  { arch: 'olmo2' },
  { arch: 'olmo2', slidingWindow: 48 },
  { arch: 'llama4', layers: 4 },
]

test.each(windowed)('$arch, with windows', async (spec) => {
  const model = await modelFile(spec)
  const long = randomTokens(N_BATCH + S + 9)
  for (const s of few) {
    const off = await ours(model, long, s, false)
    expect(off.logits).toEqual(await stock(model, long, s))
    const short = long.slice(0, S)
    const expected = await stock(model, short, s)
    for (const select of selections) {
      const on = await ours(model, short, s, { local: 16, heavy: 16, select })
      expect(on.logits).toEqual(expected)
      expect(on.calls.map((call) => call.reason)).toEqual(['one-chunk'])
    }
  }
})

test.each(covered)('$spec.arch with $weights weights, $type KV, -fa $flashAttn', async ({
  spec,
  weights,
  ...s
}) => {
  const model = await modelFile({ ...spec, type: weights })

  const long = randomTokens(N_BATCH + S + 9)
  const off = await ours(model, long, s, false)
  expect(off.logits).toEqual(await stock(model, long, s))
  expect(off.calls.map((call) => call.reason)).toEqual(['off', 'off'])

  const short = long.slice(0, S)
  const expected = await stock(model, short, s)
  for (const select of selections) {
    const on = await ours(model, short, s, { local: 16, heavy: 16, select })
    expect(on.logits).toEqual(expected)
    expect(on.calls.map((call) => call.reason)).toEqual(['one-chunk'])
  }
})

test.each(['mpt', 'mamba'] as const)('%s, asked for H2O', async (arch) => {
  const model = await modelFile({ arch })
  const tokens = randomTokens(N_BATCH + S + 9)
  const s: Settings = { flashAttn: 'off', type: 'f16' }
  const expected = await stock(model, tokens, s)
  for (const select of selections) {
    const { logits, calls } = await ours(model, tokens, s, { local: 16, heavy: 16, select })
    expect(calls.every((call) => call.path === 'dense' && call.reason?.startsWith('unsupported-'))).toBe(true)
    expect(logits).toEqual(expected)
  }
})
