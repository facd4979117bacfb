// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The policy `query` against the float64 reference (test/reference/method/query.ts), on whole tiny models with F32 weights and
// F32 KV. The reference replays the engine's sets, so that a near tie decided the other way does not spoil the
// comparison of logits; and each set must be the reference's own wherever the reference chose by more than rounding.

import { afterEach, expect, test, vi } from 'vitest'
import type { BlockTrace } from '../reference/method/query-pass.js'
import { alikeQueries, blocksOf, checkSets } from '../reference/method/query-replay.js'
import { heavyTurnover } from '../reference/method/selection.js'
import { nmse, ReferenceSession } from '../reference/method/session.js'
import { range } from '../reference/model/attention.js'
import { calls, runsOf, type SessionCase } from './steps.js'
import { open, plainModel, randomTokens } from './support.js'
import { testWays } from './ways.js'

// the reference takes up to 8 s where nothing else runs
vi.setConfig({ testTimeout: 60_000 })

// scores in F32 on every machine: others are rounded, and their sets are near these and not equal
process.env.H2O_AMX = '0'
process.env.H2O_INT8 = '0'

/** of scores, which are logarithms of shares */
const SCORE_TOLERANCE = 1e-5
const LOGITS_NMSE = 1e-9

interface Case extends SessionCase {
  nCtx?: number
  /** sharp attention leaves many keys too small a share to be wanted */
  attentionGain?: number
}

const budget = { S: 160, L: 48, H: 64 }

const cases: Case[] = [
  { name: 'a tail shorter than a block', ...budget, steps: calls(14 * 160 + 37) },
  { name: 'one KV head for 4', arch: 'qwen3', kvHeads: 1, S: 192, L: 32, H: 44, steps: calls(2000) },
  { name: 'MHA, no Local', arch: 'qwen2', kvHeads: 4, S: 96, L: 0, H: 64, steps: calls(1500) },
  { name: 'a context filled to its end', S: 64, L: 20, H: 30, nCtx: 512, steps: calls(512) },
  { name: 'Local only', S: 100, L: 40, H: 0, steps: calls(450) },
  { name: 'one position of memory', S: 100, L: 0, H: 1, steps: calls(1350) },
  { name: 'three positions of memory', S: 100, L: 8, H: 3, steps: calls(1350) },
  { name: 'Heavy of most of a chunk', S: 130, L: 9, H: 120, steps: calls(1700) },
  { name: 'sets larger than a chunk', S: 96, L: 16, H: 150, steps: calls(1500) },
  { name: 'a chunk shorter than a block', S: 40, L: 16, H: 20, steps: calls(1400) },
  { name: 'sets of fewer than H', S: 160, L: 48, H: 600, attentionGain: 75, steps: calls(1500) },
  {
    name: 'calls that begin anywhere, after a dense one and decoding',
    ...budget,
    steps: [{ call: 37 }, { call: 7 * 160 + 5 }, { decode: 11 }, { call: 3 * 160 }, { call: 161 }],
  },
  {
    name: 'rollback into a page, and decoding past the place',
    ...budget,
    steps: [
      { call: 9 * 160 },
      { rollback: 1000 },
      { decode: 30 },
      { call: 500 },
      { rollback: 300 },
      { call: 900 },
    ],
  },
]

// sets do not depend on the way: once is enough where the reference takes long
const large: Case = { name: 'ten blocks a chunk', S: 640, L: 0, H: 560, steps: calls(3 * 640) }

const ways: (Case & { kernels: 'fused' | 'composed' })[] = [
  ...(['fused', 'composed'] as const).flatMap((kernels) => cases.map((c) => ({ kernels, ...c }))),
  { kernels: 'fused', ...large },
]

afterEach(() => {
  delete process.env.H2O_FUSED
})

testWays(ways, '$kernels: $name', async ({ kernels, arch = 'llama', kvHeads = 2, S, L, H, ...rest }) => {
  const { nCtx = 4096, attentionGain = 3, steps } = rest
  process.env.H2O_FUSED = kernels === 'fused' ? '1' : '0'
  const model = await plainModel({ arch, kvHeads, attentionGain })
  const h2o = { local: L, heavy: H, select: 'query', trace: true } as const
  const context = await open({ model: model.path, nCtx, nBatch: S * Math.ceil(nCtx / S), nUbatch: S, h2o })
  const reference = new ReferenceSession(model.reference, { S, L, H, select: 'query' })
  const blocks: BlockTrace[] = []

  for (const [seed, step] of steps.entries()) {
    if ('rollback' in step) {
      await context.truncate(step.rollback)
      reference.rollback(step.rollback)
      continue
    }
    for (const [i, n] of runsOf(step).entries()) {
      const tokens = randomTokens(n, 100 * seed + i)
      const { call, logits } = await context.decode(tokens, { logits: 'all' })
      const trace = call.path === 'h2o' ? context.takeTrace() : []
      const expected = reference.call(tokens, call.path === 'h2o' ? { forcedBlocks: blocksOf(trace) } : {})

      const { path, pos, inherited, chunks } = expected
      const dense = path === 'dense'
      const reason = dense ? 'one-chunk' : null
      expect(call).toEqual({
        path,
        pos,
        n,
        inherited,
        chunks,
        reason,
        exact: dense,
        decode: 0,
        decodeReason: 'off',
      })
      expect(nmse(logits!, expected.logits)).toBeLessThanOrEqual(LOGITS_NMSE)
      expect(checkSets(expected.blocks, SCORE_TOLERANCE)).toEqual([])
      blocks.push(...expected.blocks)

      for (const { layer, pos, nChunk, nHeads, nNear, nSets, nMem, memPos, order } of trace) {
        const own = expected.blocks.filter((b) => b.layer === layer && b.pos === pos)
        expect(nHeads).toBe(model.reference.hparams.nHead)
        expect(nNear).toBe(Math.min(L, pos))
        expect(nMem).toBe(Math.min(H, pos - nNear))
        expect(nSets).toBe(nMem > 0 ? Math.ceil(nChunk / 64) : 0)
        expect(memPos).toHaveLength(nSets * nHeads * nMem)
        expect(own).toHaveLength(Math.ceil(nChunk / 64) * nHeads)
        expect(order).toHaveLength(nSets > 0 ? nHeads * nChunk : 0)
        for (const head of range(0, nHeads)) {
          const queries = own.filter((b) => b.head === head).flatMap((b) => b.queries)
          expect(queries.sort((a, b) => a - b)).toEqual(range(0, nChunk))
        }
        for (const { queries } of own) {
          expect(queries.every((i, j) => i > (queries[j - 1] ?? -1))).toBe(true)
        }
        for (const { set } of own) {
          expect(set.every((p, j) => p < pos - nNear && p > (set[j - 1] ?? -1))).toBe(true)
        }
      }
    }
  }
  if (H === 0) return
  expect(alikeQueries(blocks)).toBeGreaterThanOrEqual(0.98)
  // few of the choices were too close to compare, and blocks do not all choose the same
  const chosen = blocks.filter(({ set, pos, nNear }) => set.length < pos - nNear)
  const close = chosen.filter(({ margin }) => margin <= SCORE_TOLERANCE)
  const turnovers = chosen.slice(1).map(({ set }, i) => heavyTurnover(chosen[i]!.set, set))
  expect(chosen.length).toBeGreaterThan(20)
  if (attentionGain > 3) expect(chosen.some(({ set }) => set.length < H)).toBe(true)
  expect(close.length).toBeLessThanOrEqual(0.02 * chosen.length)
  if (H === 1) return // position 0
  expect(turnovers.filter((t) => t >= 0.2).length / turnovers.length).toBeGreaterThanOrEqual(0.4)
})

// keys that are all equal are wanted by all, and ties go to the lower position; what is NaN is wanted by none
test.each([
  ['keys of zero, all equal', (name: string) => name.endsWith('attn_k.weight'), 0, 100],
  ['weights of NaN', () => true, Number.NaN, 1],
] as const)("%s: the sets are the reference's own", async (_, isEdited, value, nMembers) => {
  const edit = (name: string, values: Float32Array) => {
    if (isEdited(name)) values.fill(value)
  }
  const model = await plainModel({ arch: 'llama', kvHeads: 2, edit })
  const [S, L, H] = [160, 48, 100]
  const h2o = { local: L, heavy: H, select: 'query', trace: true } as const
  const context = await open({ model: model.path, nBatch: 4096, nUbatch: S, h2o })
  const tokens = randomTokens(9 * S)
  await context.decode(tokens)
  const sets = blocksOf(context.takeTrace())

  const reference = new ReferenceSession(model.reference, { S, L, H, select: 'query' })
  const { blocks } = reference.call(tokens, { forcedBlocks: sets })
  expect(blocks).toHaveLength(2 * 9 * 3 * model.reference.hparams.nHead)
  for (const { set, own } of blocks) expect(set).toEqual(own)
  expect(blocks.at(-1)!.set).toEqual(range(0, nMembers))
})
