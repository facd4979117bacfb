// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The policy `votes` against the float64 reference (test/reference), on whole tiny models with F32 weights and F32 KV.
//
// The reference replays the memory sets of the engine, so that a near tie decided the other way does not spoil the
// comparison; each set must be a valid choice by the reference's own scores, and then the logits must be equal.

import { afterEach, expect, test } from 'vitest'
import { planPrefill } from '../../src/ts/index.js'
import { heavyTurnovers } from '../reference/method/h2o.js'
import { HotText } from '../reference/method/hot-text.js'
import { checkSelections, setsOf } from '../reference/method/replay.js'
import { nmse, ReferenceSession } from '../reference/method/session.js'
import { calls, runsOf, type SessionCase, type Step } from './steps.js'
import { hotModel, open } from './support.js'

const SCORE_TOLERANCE = 1e-5
const LOGITS_NMSE = 1e-9

interface Case extends SessionCase {
  /** Heavy changes by a fifth or more in at least half of the selections */
  lively?: boolean
}

function prompt(n: number, nBatch: number, S: number): Step[] {
  return calls(...planPrefill(n, nBatch, S, true))
}

const S = 32
const budget = { S, L: 8, H: 16 }

const lengths: Case[] = [S, S + 1, 2 * S - 1, 2 * S, 2 * S + 4, 4 * S, 4 * S + 1, 5 * S + 3].map((n) => ({
  name: `${n} tokens`,
  ...budget,
  steps: calls(n),
  lively: n >= 4 * S,
}))

const shapes: Case[] = (
  [
    ['llama', 1, 16, 4, 8],
    ['llama', 2, 16, 0, 11],
    ['llama', 4, 64, 16, 40],
    ['qwen2', 1, 32, 20, 8],
    ['qwen2', 2, 64, 16, 16],
    ['qwen2', 4, 16, 8, 4],
    ['qwen3', 1, 64, 16, 40],
    ['qwen3', 2, 32, 8, 8],
    ['qwen3', 4, 16, 4, 8],
  ] as const
).map(([arch, kvHeads, S, L, H]) => ({
  name: `${arch}, ${4 / kvHeads} query heads per KV head, S=${S} L=${L} H=${H}`,
  arch,
  kvHeads,
  S,
  L,
  H,
  steps: calls(8 * S + 3),
  lively: true,
}))

const edges: Case[] = [
  { name: 'Local only', S, L: 16, H: 0, steps: calls(4 * S) },
  { name: 'the largest memory there is', S, L: 15, H: 16, steps: calls(4 * S + 2) },
  { name: 'one position of memory', S, L: 0, H: 1, steps: calls(4 * S) },
  { name: '250 chunks: 16 bits would lose what they add', S: 16, L: 4, H: 4, steps: prompt(4000, 256, 16) },
]

const batches: Case[] = [2, 3, 4, 8].map((k) => ({
  name: `a prompt of ${10 * S + 5} tokens in batches of ${k} chunks`,
  ...budget,
  steps: prompt(10 * S + 5, k * S, S),
  lively: true,
}))

const sessions: Case[] = [
  { name: 'a dense short call before a long one', ...budget, steps: calls(5, 6 * S), lively: true },
  { name: 'a dense call longer than L + H before a long one', ...budget, steps: calls(30, 3 * S + 7) },
  { name: 'three calls in a row', ...budget, steps: calls(3 * S, 2 * S + 9, 4 * S), lively: true },
  {
    name: 'a second long prompt after decoding',
    ...budget,
    steps: [{ call: 4 * S }, { decode: 11 }, { call: 4 * S + 3 }, { decode: 2 }, { call: 2 * S }],
    lively: true,
  },
  {
    name: 'a second long prompt after decoding more than L tokens',
    ...budget,
    steps: [{ call: 4 * S }, { decode: 21 }, { call: 4 * S }],
  },
  {
    name: 'rollback into the middle of the last chunk',
    ...budget,
    steps: [{ call: 4 * S }, { rollback: 3 * S + 13 }, { call: 3 * S }],
  },
  {
    name: 'rollback to the begin of the last chunk',
    ...budget,
    steps: [{ call: 4 * S }, { decode: 3 }, { rollback: 3 * S }, { call: 5 }, { call: 2 * S + 3 }],
  },
  {
    name: 'rollback to before the last chunk',
    ...budget,
    steps: [{ call: 4 * S }, { rollback: 2 * S + 5 }, { call: 3 * S }, { call: 2 * S }],
  },
  {
    name: 'rollback to before most of the memory',
    ...budget,
    steps: [{ call: 6 * S }, { rollback: 11 }, { call: 3 * S }],
  },
  {
    name: 'rollback past the last sparse chunk',
    ...budget,
    steps: [{ call: 3 * S }, { decode: 6 }, { rollback: 3 * S + 2 }, { call: 2 * S + 1 }],
  },
  // going on densely first, so that a score that should be gone could come back
  {
    name: 'rollback, decoding past the place, and on',
    ...budget,
    steps: [{ call: 4 * S }, { rollback: 3 * S + 13 }, { decode: 21 }, { call: 3 * S }],
  },
  {
    name: 'rollback, a dense call past the place, and on',
    ...budget,
    steps: [{ call: 6 * S }, { rollback: 11 }, { call: 30 }, { call: 3 * S }],
  },
  { name: 'rollback to nothing', ...budget, steps: [{ call: 3 * S }, { rollback: 0 }, { call: 3 * S }] },
]

const cases = [...lengths, ...shapes, ...edges, ...batches, ...sessions]
const ways = (['single-pass', 'two-pass'] as const).flatMap((schedule) =>
  (['fused', 'composed'] as const).map((kernels) => ({ schedule, kernels })),
)

afterEach(() => {
  delete process.env.H2O_FUSED
})

test.each(
  ways.flatMap((way) => cases.map((c) => ({ ...way, ...c }))),
)('$schedule, $kernels: $name', async (c) => {
  process.env.H2O_FUSED = c.kernels === 'fused' ? '1' : '0'
  const { schedule, arch = 'llama', kvHeads = 2, S, L, H, steps } = c
  const model = await hotModel(arch, kvHeads)
  const context = await open({
    model: model.path,
    nBatch: 16 * S,
    nUbatch: S,
    h2o: { local: L, heavy: H, select: 'votes', schedule, trace: true },
  })
  const reference = new ReferenceSession(model.reference, { S, L, H, schedule })

  const nTokens = steps.reduce((sum, step) => sum + ('call' in step ? step.call : 0), 0)
  const text = new HotText({ S, H, nChunks: Math.ceil(nTokens / S) })
  const turnovers: number[] = []

  for (const step of steps) {
    if ('rollback' in step) {
      await context.truncate(step.rollback)
      reference.rollback(step.rollback)
      text.rewind(step.rollback)
      continue
    }
    for (const n of runsOf(step)) {
      const tokens = text.next(n)
      const { call, logits } = await context.decode(tokens, { logits: 'all' })
      const trace = call.path === 'h2o' ? context.takeTrace() : []
      const expected = reference.call(tokens, call.path === 'h2o' ? { forcedMemory: setsOf(trace) } : {})

      expect({ path: call.path, pos: call.pos, n: call.n, chunks: call.chunks }).toEqual({
        path: expected.path,
        pos: expected.pos,
        n: expected.n,
        chunks: expected.chunks,
      })
      expect(nmse(logits!, expected.logits)).toBeLessThanOrEqual(LOGITS_NMSE)
      expect(checkSelections(expected.trace, { L, H }, SCORE_TOLERANCE)).toEqual([])
      turnovers.push(...heavyTurnovers(expected.trace, L))

      for (const [i, entry] of trace.entries()) {
        const { heads, pos, n } = expected.trace[i]!
        expect([entry.pos, entry.nChunk, entry.nHeads]).toEqual([pos, n, heads.length])
        expectClose(
          entry.memScore,
          heads.flatMap(({ memScore }) => Array.from(memScore)),
        )
        expectClose(
          entry.chunkScore,
          heads.flatMap(({ chunkScore }) => Array.from(chunkScore)),
        )
      }
    }
  }
  if (c.lively) {
    expect(turnovers.filter((t) => t >= 0.2).length / turnovers.length).toBeGreaterThanOrEqual(0.5)
  }
})

/** Scores are sums of weights of at most 1; each is right to a relative 1e-5, or to 1e-5 where it is small. */
function expectClose(actual: Float32Array, expected: number[]): void {
  expect(actual.length).toBe(expected.length)
  const worst = Math.max(0, ...expected.map((x, i) => Math.abs(actual[i]! - x) / Math.max(1, Math.abs(x))))
  expect(worst).toBeLessThanOrEqual(SCORE_TOLERANCE)
}
