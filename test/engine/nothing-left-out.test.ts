// Sparse equals stock where nothing is left out: p <= L tokens in one call, then S + 1 tokens with all
// logits. The first S of them attend to everything before them, so they equal dense attention of the same context
// settings; and the call must say that it was sparse, so that nothing passes by falling back.

import { afterEach, expect } from 'vitest'
import type { H2oOptions, KvType } from '../../src/ts/index.js'
import type { ModelSpec } from '../../src/ts/model-maker/index.js'
import { nmse } from '../reference/method/session.js'
import { allLogits, modelFile, open, randomTokens } from './support.js'
import { policies, selections, testWays } from './ways.js'

const S = 96 // for `query` a block and a half
const P = 20

// what came before is Local, or Local and all that is left
const methods = {
  votes: { local: P + 4, heavy: 8, select: 'votes' },
  query: { local: 8, heavy: 16, select: 'query' },
} satisfies Record<string, H2oOptions>

const models: Record<string, ModelSpec> = {
  llama: { arch: 'llama' },
  'llama, MHA': { arch: 'llama', kvHeads: 4 },
  'mistral (head size of its own)': { arch: 'llama', headDim: 64, kvHeads: 1 },
  qwen2: { arch: 'qwen2' },
  qwen3: { arch: 'qwen3', headDim: 64 },
  qwen3moe: { arch: 'qwen3moe' },
  phi3: { arch: 'phi3', hidden: 256 },
  'gemma3 (windows)': { arch: 'gemma3', layers: 6, slidingWindow: 32 },
  'gemma3 (one KV head of 256)': {
    ...{ arch: 'gemma3', layers: 6, slidingWindow: 32, headDim: 256, kvHeads: 1 },
  },
  'gemma2 (capped logits)': { arch: 'gemma2', slidingWindow: 32, attentionGain: 20 },
  'gemma4 (shared keys and values)': {
    ...{ arch: 'gemma4', layers: 6, sharedKvLayers: 2, headDim: 64, windowHeadDim: 32, slidingWindow: 32 },
  },
  'cohere2 (full layers without RoPE)': { arch: 'cohere2', slidingWindow: 32 },
  'olmo2 (windows, OLMo 3)': { arch: 'olmo2', slidingWindow: 32 },
  'exaone4 (windows)': { arch: 'exaone4', layers: 64, slidingWindow: 32, slidingPattern: 32 },
  'llama4 (chunks)': { arch: 'llama4', layers: 4 },
  'gpt-oss (sinks)': { arch: 'gpt-oss', slidingWindow: 32 },
  'jamba (recurrent layers)': { arch: 'jamba', layers: 8 },
}

// what differs is outside of attention: two of the settings are enough
const hybrids: Record<string, ModelSpec> = {
  lfm2: { arch: 'lfm2', layers: 4 },
  lfm2moe: { arch: 'lfm2moe', layers: 4 },
  qwen35: { arch: 'qwen35', layers: 8, headDim: 64 },
  qwen35moe: { arch: 'qwen35moe', layers: 4 },
  qwen3next: { arch: 'qwen3next', layers: 4 },
  granitehybrid: { arch: 'granitehybrid', layers: 4 },
  'falcon-h1': { arch: 'falcon-h1', layers: 4 },
  nemotron_h: { arch: 'nemotron_h', layers: 6 },
}

// Stock rounds q and the weights to the type of the cache (q to 8 bits for a quantised K), and -fa on rounds F32 to
// F16. The graph of stock ops rounds likewise, in another order; the fused kernels leave q and the weights in F32.
const limits: Partial<Record<KvType, { on: number; off?: number; fused?: number }>> = {
  f32: { on: 1e-5, off: 1e-9 },
  f16: { on: 1e-5, off: 1e-5 },
  bf16: { on: 2e-4, off: 2e-4 },
  q8_0: { on: 1e-5, fused: 1e-3 },
  q4_0: { on: 1e-5, fused: 1e-2 },
}

// What the last bit of a sum can move, more so with more layers: an entry of ggml's table of GELU (F16), or a value of
// the cache to the next of 16 levels (13 seeds: 4e-10 .. 2.4e-4).
const leasts: Record<string, Partial<Record<KvType, number>>> = {
  'gemma4 (shared keys and values)': { f32: 5e-8 },
  'exaone4 (windows)': { q4_0: 1e-3 },
}

const cases = Object.keys({ ...models, ...hybrids }).flatMap((name) =>
  Object.entries(limits).flatMap(([type, limit]) =>
    (['on', 'off'] as const).flatMap((flashAttn) =>
      (['composed', 'fused'] as const).flatMap((kernels) => {
        const stock = limit[flashAttn]
        if (stock === undefined) return []
        if (name in hybrids && type !== (kernels === 'fused' ? 'f16' : 'f32')) return []
        const bound = Math.max(
          (kernels === 'fused' && limit.fused) || stock,
          leasts[name]?.[type as KvType] ?? 0,
        )
        return selections.map((select) => ({
          ...{ name, type: type as KvType, flashAttn, kernels, select, bound },
        }))
      }),
    ),
  ),
)

afterEach(() => {
  delete process.env.H2O_FUSED
})

testWays(cases, '$select: $name, $type KV, -fa $flashAttn, $kernels', async (c) => {
  const { name, type, flashAttn, kernels, select, bound } = c
  process.env.H2O_FUSED = kernels === 'fused' ? '1' : '0'
  const model = await modelFile((models[name] ?? hybrids[name]) as ModelSpec)
  const before = randomTokens(P, 1)
  const tokens = randomTokens(S + 1, 2)

  const run = async (h2o: false | H2oOptions) => {
    const context = await open({
      ...{ model, nBatch: 4 * S, nUbatch: S, typeK: type, typeV: type, flashAttn, h2o },
      upstreamProducts: true, // what comes before is stock's in both
    })
    await context.decode(before)
    const { call, logits } = await context.decode(tokens, { logits: 'all' })
    await context.dispose()
    const nVocab = (logits as Float32Array).length / tokens.length
    return { call, logits: (logits as Float32Array).subarray(0, S * nVocab) }
  }

  const sparse = await run(methods[select])
  const dense = await run(false)

  expect(sparse.call).toMatchObject({ path: 'h2o', reason: null, chunks: 2 })
  expect(sparse.call.inherited).toBe(select === 'query' ? P : 0) // votes knows nothing of a dense call
  expect(dense.call).toMatchObject({ path: 'dense', reason: 'off' })
  expect(nmse(sparse.logits, dense.logits)).toBeLessThanOrEqual(bound)
})

testWays(policies, '$select: K quantised and V not, with V plain and transposed', async ({ select }) => {
  const model = await modelFile({ arch: 'qwen3', headDim: 64 })
  const tokens = randomTokens(3 * S)
  for (const flashAttn of ['on', 'off'] as const) {
    const settings = { model, nBatch: 4 * S, nUbatch: S, typeK: 'q8_0', typeV: 'f16', flashAttn } as const
    const context = await open({ ...settings, h2o: { local: 16, heavy: 16, select } })
    const logits = await allLogits(context, tokens)
    expect(logits.every(Number.isFinite)).toBe(true)
  }
})
