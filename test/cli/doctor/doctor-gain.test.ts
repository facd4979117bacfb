// What doctor predicts, against the shapes it comes from and against what was measured.
import { describe, expect, it } from 'vitest'
import { attentionCosts, LENGTHS, onGpu, predictGainOf, predictGains } from '../../../src/ts/gain.js'
import type { Call } from '../../../src/ts/index.js'
import { presets } from '../../../src/ts/model-maker/index.js'
import { denseCall, h2oInfo, sparseCall } from '../support/fake-api.js'

/** Four layers of Qwen3-0.6B's shape, the model of bench/results/2026-11-20-full-intel-xeon-2-cores.md. */
const { hidden, heads, kvHeads, headDim, ffn } = presets['qwen3-0.6b']
const qkvo = 2 * hidden * headDim * (2 * heads + 2 * kvHeads)
// the last layer needs its FFN for the tokens alone whose logits are asked for
const demo = {
  linear: 4 * qkvo + 3 * 6 * hidden * ffn,
  pair: 4 * heads * 4 * headDim,
  windowPair: 0,
  window: 0,
}
/** Six layers of Gemma 3 1B's, of which one is sparse. */
const gemma = {
  linear: 6 * 2 * 1152 * 256 * 10 + 5 * 6 * 1152 * 6912,
  pair: 4 * 4 * 256,
  windowPair: 5 * 4 * 4 * 256,
  window: 512,
}

const shapes = {
  'qwen3-1.7b': { layers: 28, hidden: 2048, heads: 16, kvHeads: 8, headDim: 128, ffn: 6144 },
  'qwen3-8b': { layers: 36, hidden: 4096, heads: 32, kvHeads: 8, headDim: 128, ffn: 12288 },
}

const defaults = { covered: true, select: 'query', heavy: 640, heavyGrows: false } as const
const vnni = attentionCosts('CPU : AVX2 = 1 | AVX512_VNNI = 1 | ')
const amx = attentionCosts('CPU : AVX512_VNNI = 1 | AMX_INT8 = 1 | REPACK = 1 | ')
const upstream = attentionCosts('CPU : AVX512_VNNI = 1 | ', true)

it('knows the kinds of processors', () => {
  expect(attentionCosts('CPU : AMX_INT8 = 1 | ')).toBe(amx)
  expect(attentionCosts('CPU : AVX512_VNNI = 1 | AMX_INT8 = 0 | ')).toBe(vnni)
  expect(amx).not.toBe(vnni)
  expect(attentionCosts('CPU : AVX2 = 1 | AVX512_VNNI = 0 | ')).not.toBe(vnni)
  expect(upstream).not.toBe(vnni)
})

/** Of docs/models.md, which has the commands. */
it.each([
  ["llama.cpp's own products", demo, upstream, { heavy: 384 }, [2.59, 8.26]],
  ['AMX', demo, amx, {}, [5.99, 19.9]],
  ['AMX, with windows', gemma, amx, {}, [1.26, 1.99]],
])('is near what was measured: %s', (_, cost, attention, sets, measured) => {
  for (const [i, { times }] of predictGains({ ...defaults, ...sets, cost }, attention)
    .slice(0, 2)
    .entries()) {
    const was = measured[i] as number
    expect(times).toBeGreaterThan(was / 1.2)
    expect(times).toBeLessThan(was * 1.2)
  }
})

/** Of docs/gpu.md, 131072 tokens. */
it.each([
  ['qwen3-1.7b', 'query', 2.99],
  ['qwen3-1.7b', 'votes', 5.44],
  ['qwen3-8b', 'query', 3.43],
  ['qwen3-8b', 'votes', 5.96],
] as const)('is near what an H200 took: %s, %s', (name, select, measured) => {
  const { layers, hidden, heads, kvHeads, headDim, ffn } = shapes[name]
  const linear = layers * 2 * hidden * headDim * 2 * (heads + kvHeads) + (layers - 1) * 6 * hidden * ffn
  const cost = { linear, pair: layers * heads * 4 * headDim, windowPair: 0, window: 0 }
  const times = predictGains({ ...defaults, select, cost }, onGpu[select]).at(-1)?.times as number
  expect(times).toBeGreaterThan(measured / 1.5)
  expect(times).toBeLessThan(measured * 1.5)
})

describe('of a run', () => {
  const h2o = { ...h2oInfo, ...defaults, chunk: 1024, local: 128, denseTail: 64, cost: demo }
  const sparse = (pos: number, n: number) => ({ ...sparseCall, pos, n })
  const run = (...calls: Call[]) => ({ path: 'h2o', schedule: 'single-pass', calls }) as const

  const gainOf = (prefill: ReturnType<typeof run>) => predictGainOf(prefill, h2o, vnni)

  it('is that of doctor for a whole prompt of the same sizes, in however many calls', () => {
    const [at8k] = predictGains({ ...defaults, cost: demo }, vnni).map(({ times }) => times)
    expect(gainOf(run(sparse(0, 8192)))).toBeCloseTo(at8k as number, 9)
    expect(gainOf(run(sparse(0, 4096), sparse(4096, 4096)))).toBeCloseTo(at8k as number, 9)
  })

  it.each([
    ['AVX2', attentionCosts('CPU : AVX2 = 1 | '), [2048, 4096], [1.38, 2.12]],
    ['AVX-512', vnni, [2048, 4096], [1.67, 2.7]],
  ])('is near what SmolLM2 took with %s', (_, attention, lengths, measured) => {
    const smol = { linear: 30 * 2 * 576 * 64 * 24 + 29 * 6 * 576 * 1536, pair: 30 * 9 * 256 }
    const own = { ...h2o, chunk: 512, cost: { ...smol, windowPair: 0, window: 0 } }
    for (const [i, n] of lengths.entries()) {
      const tail = { ...denseCall, pos: n - 64, n: 64 }
      const gain = predictGainOf(run(sparse(0, n - 64), tail), own, attention) as number
      expect(gain).toBeGreaterThan((measured[i] as number) / 1.1)
      expect(gain).toBeLessThan((measured[i] as number) * 1.1)
    }
  })

  it('is less with a dense tail, and more behind a long text', () => {
    const plain = gainOf(run(sparse(0, 8192))) as number
    const tail = { ...denseCall, pos: 8192, n: 64 }
    expect(gainOf(run(sparse(0, 8192), tail))).toBeLessThan(plain)
    expect(gainOf(run(sparse(8192, 8192)))).toBeGreaterThan(plain)
    expect(gainOf(run({ ...denseCall, pos: 8192, n: 64 }))).toBe(1)
  })

  it('is not known where doctor has no basis', () => {
    const prefill = run(sparse(0, 8192))
    expect(predictGainOf({ ...prefill, path: 'dense' }, h2o, vnni)).toBeUndefined()
    expect(predictGainOf({ ...prefill, schedule: 'two-pass' }, h2o, vnni)).toBeUndefined()
    expect(predictGainOf(prefill, { ...h2o, layers: ['sparse', 'recurrent'] }, vnni)).toBeUndefined()
  })
})

it('grows with the length, and with what attention costs', () => {
  const [slow, fast] = [vnni, upstream].map((attention) =>
    predictGains({ ...defaults, cost: demo }, attention).map(({ times }) => times),
  ) as [number[], number[]]
  expect(slow).toHaveLength(LENGTHS.length)
  for (const times of [slow, fast]) expect(times).toEqual([...times].sort((a, b) => a - b))
  for (const [i, times] of fast.entries()) expect(slow[i]).toBeGreaterThan(times)
})

it('is less where sets grow, once they hold more than others may', () => {
  const fixed = predictGains({ ...defaults, cost: demo }, vnni)
  const grown = predictGains({ ...defaults, heavyGrows: true, cost: demo }, vnni)
  for (const [i, { tokens, times }] of fixed.entries()) {
    expect((grown[i]?.times as number) < times).toBe(tokens > 4096)
  }
})

it('knows nothing to gain where little attention is over all positions', () => {
  const cost = { ...demo, pair: 1, windowPair: demo.pair, window: 1024 }
  for (const { times } of predictGains({ ...defaults, cost }, vnni)) expect(times).toBeCloseTo(1, 2)
  expect(predictGains({ ...defaults, covered: false, cost: demo }, vnni)).toEqual([])
})
