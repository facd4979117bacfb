// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The dense attention mass that a trace holds on request, against the float64 reference and against itself.

import { afterEach, expect } from 'vitest'
import { coverage } from '../../src/ts/cli/inspect/coverage.js'
import type { H2oTraceEntry, KvType } from '../../src/ts/index.js'
import { HotText } from '../reference/method/hot-text.js'
import { setsOf } from '../reference/method/replay.js'
import { ReferenceSession } from '../reference/method/session.js'
import { allLogits, hotModel, modelFile, open, randomTokens } from './support.js'
import { policies, testWays } from './ways.js'

const S = 32
const L = 8
const H = 16
const N_HEAD = 4

afterEach(() => {
  delete process.env.H2O_FUSED
})

const schedules = (['single-pass', 'two-pass'] as const).map(
  (schedule) => ({ schedule, select: 'votes' }) as const,
)

const ways = schedules.flatMap((method) =>
  (['fused', 'composed'] as const).flatMap((kernels) =>
    (
      [
        ['llama', 1],
        ['llama', 4],
        ['qwen3', 2],
      ] as const
    ).map(([arch, kvHeads]) => ({ ...method, kernels, arch, kvHeads })),
  ),
)

testWays(ways, '$schedule, $kernels, $arch, $kvHeads KV heads: equals the reference', async (way) => {
  const { schedule, select, kernels, arch, kvHeads } = way
  process.env.H2O_FUSED = kernels === 'fused' ? '1' : '0'
  const model = await hotModel(arch, kvHeads)
  const h2o = { local: L, heavy: H, schedule, select, trace: 'mass' } as const
  const context = await open({ model: model.path, nBatch: 8 * S, nUbatch: S, h2o })
  const reference = new ReferenceSession(model.reference, { S, L, H, schedule })
  const text = new HotText({ S, H, nChunks: 9 })

  // a dense call, then sparse ones that begin inside of a cell block, with a tail and without
  for (const n of [5, 4 * S + 3, 3 * S]) {
    const tokens = text.next(n)
    const { call } = await context.decode(tokens)
    const trace = context.takeTrace()
    expect(trace.length > 0).toBe(call.path === 'h2o')
    const expected = reference.call(tokens, {
      mass: true,
      ...(trace.length && { forcedMemory: setsOf(trace) }),
    })
    expect(trace).toHaveLength(expected.trace.length)
    for (const [i, { pos, nChunk, mass }] of trace.entries()) {
      const flat = expected.trace[i]!.mass!.flatMap((head) => [...head])
      expect(flat).toHaveLength(kvHeads * (pos + nChunk))
      expect(mass).toHaveLength(flat.length)
      const worst = Math.max(...flat.map((x, j) => Math.abs(mass![j]! - x) / Math.max(1, x)))
      expect(worst).toBeLessThanOrEqual(1e-5)
      for (const sum of headSums(trace[i]!)) expect(sum).toBeCloseTo((nChunk * N_HEAD) / kvHeads, 3)
    }
  }
})

testWays(schedules, '$schedule: coverage is 1 where nothing is left out', async (method) => {
  const h2o = { local: 20, heavy: 4, ...method, trace: 'mass' } as const
  const model = await modelFile({ arch: 'llama', kvHeads: 2 })
  const context = await open({ model, nBatch: 4 * S, nUbatch: S, h2o })
  await context.decode(randomTokens(20))
  await context.decode(randomTokens(S + 1, 2))
  const trace = context.takeTrace()
  expect(trace.map(({ pos }) => pos)).toEqual([20, 20 + S, 20, 20 + S])
  for (const { pos, nChunk, memPos, nMem, mass } of trace) {
    for (const head of [0, 1]) {
      const own = mass!.subarray(head * (pos + nChunk), (head + 1) * (pos + nChunk))
      const memory = memPos.slice(head * nMem, (head + 1) * nMem)
      const shares = coverage(own, pos, memory, { local: 20, nSink: 4 })
      if (pos > 20) {
        expect(shares.coverage).toBeLessThan(0.99)
      } else {
        expect(shares.coverage).toBeCloseTo(1, 6)
        expect(shares.oracle).toBeCloseTo(1, 6)
      }
    }
  }
})

const methods = [{ schedule: 'single-pass', select: 'query' }, ...schedules] as const

testWays(methods, '$schedule, $select: asking for it changes nothing else', async (method) => {
  const model = await hotModel('qwen3', 2)
  const text = new HotText({ S, H, nChunks: 6 }).next(6 * S)
  const run = async (trace: boolean | 'mass') => {
    const h2o = { local: L, heavy: H, ...method, trace }
    const context = await open({ model: model.path, nBatch: 3 * S, nUbatch: S, h2o })
    const logits = [
      await allLogits(context, text.slice(0, 3 * S)),
      await allLogits(context, text.slice(3 * S)),
    ]
    return { logits, memory: context.memory, trace: context.takeTrace() }
  }
  const [off, sets, mass] = [await run(false), await run(true), await run('mass')]
  expect(sets.logits).toEqual(off.logits)
  expect(mass.logits).toEqual(off.logits)
  expect([sets.memory, mass.memory]).toEqual([off.memory, off.memory])
  expect(off.trace).toEqual([])
  expect(sets.trace.every((entry) => !('mass' in entry))).toBe(true)
  expect(mass.trace.map(({ mass, ...entry }) => entry)).toEqual(sets.trace)
})

testWays(policies, '$select: a chunk whose logits go in slices has what its parts have', async (policy) => {
  // layer 0: its queries do not depend on what attention gave. 6144 keys, 3072 queries, 4 heads: 288 MiB, two slices
  const model = await modelFile({ arch: 'llama', layers: 1, hidden: 32, heads: 4, kvHeads: 2 })
  const N = 6144
  const tokens = randomTokens(N)
  const lastRows = async (nUbatch: number) => {
    const h2o = { local: 8, heavy: 8, ...policy, trace: 'mass' } as const
    const context = await open({ model, nCtx: N, nBatch: N, nUbatch, h2o })
    await context.decode(tokens)
    const sums = [new Float64Array(N), new Float64Array(N)]
    for (const { pos, nChunk, nHeads, mass } of context.takeTrace().filter(({ pos }) => pos >= N / 2)) {
      const end = pos + nChunk
      for (const [j, x] of mass!.entries()) {
        const head = Math.floor(j / end) % nHeads
        sums[Math.floor((2 * head) / nHeads)]![j % end]! += x
      }
    }
    await context.dispose()
    return sums
  }
  const [whole, parts] = [await lastRows(N / 2), await lastRows(1024)]
  for (const [head, sum] of whole.entries()) {
    const worst = Math.max(...sum.map((x, j) => Math.abs(x - parts[head]![j]!)))
    expect(worst).toBeLessThanOrEqual(1e-4)
    expect(sum.reduce((a, b) => a + b)).toBeCloseTo(N, 1)
  }
})

const caches = (
  [
    ['f16', 'on'],
    ['bf16', 'off'],
    ['q8_0', 'on'],
    ['q4_0', 'on'],
  ] as const
).flatMap(([type, flashAttn]) => policies.map((policy) => ({ ...policy, type, flashAttn })))

testWays(caches, '$select, $type KV, -fa $flashAttn: every query gives what it has', async (cache) => {
  const { select, type, flashAttn } = cache
  const model = await modelFile({ arch: 'qwen3', headDim: 64, kvHeads: 2 })
  const tokens = randomTokens(100)
  const run = async (settings: { typeK: KvType; typeV: KvType; flashAttn: 'on' | 'off' }) => {
    const h2o = { local: 8, heavy: 8, select, trace: 'mass' } as const
    const context = await open({ model, nBatch: 128, nUbatch: S, h2o, ...settings })
    await context.decode(tokens)
    return context.takeTrace()
  }
  const [trace, exact] = [
    await run({ typeK: type, typeV: type, flashAttn }),
    await run({ typeK: 'f32', typeV: 'f32', flashAttn: 'off' }),
  ]
  for (const [i, entry] of trace.entries()) {
    expect(entry.nHeads).toBe(select === 'votes' ? 2 : N_HEAD)
    for (const sum of headSums(entry)) expect(sum).toBeCloseTo((entry.nChunk * N_HEAD) / entry.nHeads, 3)
    if (entry.layer > 0) continue
    const worst = Math.max(...entry.mass!.map((x, j) => Math.abs(x - exact[i]!.mass![j]!)))
    expect(worst).toBeLessThanOrEqual(type === 'q4_0' ? 1 : 0.1)
  }
})

function headSums({ mass, pos, nChunk, nHeads }: H2oTraceEntry): number[] {
  const end = pos + nChunk
  return Array.from({ length: nHeads }, (_, head) =>
    mass!.subarray(head * end, (head + 1) * end).reduce((a, b) => a + b, 0),
  )
}
