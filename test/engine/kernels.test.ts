// The fused kernels against the graph of stock ops, on whole models: the same sets and logits. The composed graph is the
// one that the reference has checked; here the shapes are larger than the reference could take.

import { afterEach, expect, test } from 'vitest'
import { nmse } from '../reference/session.js'
import { modelFile, open, randomTokens } from './support.js'

afterEach(() => {
  delete process.env.H2O_FUSED
})

const shapes = [
  // 256 MiB of logits hold one chunk of 2048 tokens and 16 heads: the composed graph runs its chunks one by one
  {
    name: 'a chunk per batch',
    spec: { heads: 16, kvHeads: 4, headDim: 16, hidden: 64, layers: 1 },
    S: 2048,
    n: 3 * 2048 + 5,
  },
  { name: 'head size 80', spec: { heads: 4, kvHeads: 2, headDim: 80, hidden: 64 }, S: 96, n: 5 * 96 + 17 },
  {
    name: 'head size 128, 8 query heads per KV head',
    spec: { heads: 8, kvHeads: 1, headDim: 128, hidden: 64 },
    S: 64,
    n: 777,
  },
] as const

// the large shape once is enough
const ways = shapes.flatMap((shape) =>
  (['on', 'off'] as const)
    .flatMap((flashAttn) =>
      (['single-pass', 'two-pass'] as const).map((schedule) => ({ ...shape, flashAttn, schedule })),
    )
    .slice(0, shape.S > 1024 ? 1 : 4),
)

test.each(ways)('$name, -fa $flashAttn, $schedule', async ({ spec, S, n, flashAttn, schedule }) => {
  const model = await modelFile({ arch: 'qwen3', ffn: 64, ...spec })
  const tokens = randomTokens(n)

  const run = async (fused: string) => {
    process.env.H2O_FUSED = fused
    const h2o = { local: S / 8, heavy: S / 4, schedule, trace: true }
    const context = await open({ model, nCtx: 32768, nBatch: 16 * S, nUbatch: S, flashAttn, h2o })
    const { call, logits } = await context.decode(tokens)
    const trace = context.takeTrace()
    const { computeBytes } = context.memory
    await context.dispose()
    return { call, logits: logits as Float32Array, sets: trace.map((e) => e.memPos), computeBytes }
  }

  const fused = await run('1')
  const composed = await run('0')
  expect(fused.call).toMatchObject({ path: 'h2o', chunks: Math.ceil(n / S) })
  expect(nmse(fused.logits, composed.logits)).toBeLessThanOrEqual(1e-8)
  expect(fused.computeBytes).toBeLessThanOrEqual(composed.computeBytes)

  // rounding may decide a near tie the other way
  for (const [i, set] of fused.sets.entries()) {
    const other = new Set(composed.sets[i])
    expect(set.filter((p) => !other.has(p)).length).toBeLessThanOrEqual(0.01 * set.length)
  }
})

test('compute buffers do not grow with the logical batch', async () => {
  process.env.H2O_FUSED = '0'
  const model = await modelFile({
    arch: 'qwen3',
    heads: 16,
    kvHeads: 4,
    headDim: 16,
    hidden: 64,
    ffn: 64,
    layers: 1,
    context: 1 << 16,
  })
  const bytes = []
  for (const chunks of [2, 6]) {
    const { memory } = await open({ model, nCtx: 16384, nBatch: chunks * 2048, nUbatch: 2048 })
    bytes.push(memory.sparseComputeBytes)
  }
  expect(bytes[1]).toBe(bytes[0])
})
