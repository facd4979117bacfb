// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The experiments (docs/experiments.md) against the float64 reference, as method.test.ts holds the method itself: scores,
// memory sets, logits. A case counts only if its memory sets are other ones than those of the plain method.

import { afterEach, describe, expect, it, test } from 'vitest'
import { type Experiments, planPrefill, type Schedule } from '../../src/ts/index.js'
import { heavyTurnovers } from '../reference/h2o.js'
import { HotText } from '../reference/hot-text.js'
import { checkSelections, setsOf } from '../reference/replay.js'
import { nmse, ReferenceSession } from '../reference/session.js'
import { hotModel, open } from './support.js'

const SCORE_TOLERANCE = 1e-5
const LOGITS_NMSE = 1e-9

interface Case {
  name: string
  experiments: Experiments
  /** tokens of each call, or the position of a rollback below 0 */
  steps: number[]
  schedule?: Schedule
  kernels?: 'fused' | 'composed'
  arch?: 'llama' | 'qwen2' | 'qwen3'
  kvHeads?: number
  L?: number
  H?: number
  /** all memory sets are those of the plain method */
  same?: boolean
}

const S = 32
const long = planPrefill(10 * S + 5, 4 * S, S, true)

const variants: [string, Experiments][] = [
  ['sink', { sink: 4 }],
  ['more sinks than H', { sink: 1000 }],
  ['vote window', { voteWindow: 5 }],
  ['vote causal', { voteCausal: true }],
  ['vote mean', { voteMean: true }],
  ['decay', { decay: 0.5 }],
  ['vote window and causal', { voteWindow: 7, voteCausal: true }],
  ['sink, mean and decay', { sink: 3, voteMean: true, decay: 0.8 }],
]

const cases: Case[] = [
  ...variants.flatMap(([name, experiments]) =>
    (
      [
        ['single-pass', 'fused'],
        ['single-pass', 'composed'],
        ['two-pass', 'fused'],
        ['two-pass', 'composed'],
      ] as const
    ).map(([schedule, kernels]) => ({ name, experiments, schedule, kernels, steps: long })),
  ),
  ...(
    [
      ['vote fused', { voteFused: true }],
      ['vote fused and window', { voteFused: true, voteWindow: 6 }],
      ['vote fused and causal', { voteFused: true, voteCausal: true }],
      [
        'all of them',
        { sink: 2, voteWindow: 9, voteFused: true, voteCausal: true, voteMean: true, decay: 0.7 },
      ],
    ] as const
  ).flatMap(([name, experiments]) => [
    { name, experiments, steps: long },
    { name: `${name}, 4 query heads per KV head`, experiments, steps: [8 * S + 3], kvHeads: 1 },
    { name: `${name}, qwen3`, experiments, steps: [8 * S + 3], kvHeads: 4, arch: 'qwen3' as const },
  ]),
  { name: 'a window of a whole chunk', experiments: { voteWindow: S }, steps: long, same: true },
  { name: 'a window beyond it', experiments: { voteWindow: 5 * S }, steps: long, same: true },
  { name: 'a window of one query', experiments: { voteWindow: 1 }, steps: long, kvHeads: 1 },
  { name: 'Heavy of sinks alone', experiments: { sink: 16 }, steps: long },
  { name: 'sinks and no Local', experiments: { sink: 5 }, steps: long, L: 0, H: 20 },
  // as L + H < S, only a short dense call before makes Local begin among the sinks
  { name: 'sinks that reach into Local', experiments: { sink: 6 }, steps: [12, 6 * S] },
  { name: 'sinks after a rollback', experiments: { sink: 6 }, steps: [6 * S, -11, 3 * S, 4 * S] },
  { name: 'decay after a rollback', experiments: { decay: 0.6 }, steps: [6 * S, -(4 * S + 7), 3 * S, 4 * S] },
  { name: 'a dense call first', experiments: { voteFused: true, decay: 0.6 }, steps: [5, 6 * S, 2 * S] },
]

afterEach(() => {
  delete process.env.H2O_FUSED
})

test.each(
  cases.map((c) => ({ schedule: 'single-pass' as const, kernels: 'fused', ...c })),
)('$name, $schedule, $kernels', async (c) => {
  const { experiments, schedule, arch = 'llama', kvHeads = 2, L = 8, H = 16, steps } = c
  process.env.H2O_FUSED = c.kernels === 'composed' ? '0' : '1'
  const model = await hotModel(arch, kvHeads)
  const h2o = { local: L, heavy: H, schedule, trace: true }
  const sizes = { model: model.path, nBatch: 16 * S, nUbatch: S }
  const context = await open({ ...sizes, h2o: { ...h2o, experiments } })
  const plain = await open({ ...sizes, h2o })
  const reference = new ReferenceSession(model.reference, { S, L, H, schedule, experiments })

  const nChunks = steps.reduce((sum, n) => sum + Math.ceil(Math.max(0, n) / S), 0)
  const text = new HotText({ S, H, nChunks })
  const turnovers: number[] = []
  let nOther = 0

  for (const step of steps) {
    if (step < 0) {
      await context.truncate(-step)
      await plain.truncate(-step)
      reference.rollback(-step)
      text.rewind(-step)
      continue
    }
    const tokens = text.next(step)
    const { call, logits } = await context.decode(tokens, { logits: 'all' })
    const trace = call.path === 'h2o' ? context.takeTrace() : []
    const expected = reference.call(tokens, call.path === 'h2o' ? { forcedMemory: setsOf(trace) } : {})

    expect({ path: call.path, pos: call.pos }).toEqual({ path: expected.path, pos: expected.pos })
    expect(nmse(logits!, expected.logits)).toBeLessThanOrEqual(LOGITS_NMSE)
    expect(checkSelections(expected.trace, { L, H, sink: experiments.sink }, SCORE_TOLERANCE)).toEqual([])
    turnovers.push(...heavyTurnovers(expected.trace, L))

    for (const [i, entry] of trace.entries()) {
      const { heads, pos, n } = expected.trace[i]!
      expect([entry.pos, entry.nChunk, entry.nHeadKv]).toEqual([pos, n, heads.length])
      const flat = (of: 'memScore' | 'chunkScore') => heads.flatMap((head) => Array.from(head[of]))
      expectClose(entry.memScore, flat('memScore'))
      expectClose(entry.chunkScore, flat('chunkScore'))
    }

    await plain.decode(tokens)
    const others = call.path === 'h2o' ? plain.takeTrace() : []
    for (const [i, { memPos }] of others.entries()) {
      if (memPos.some((p, j) => p !== trace[i]!.memPos[j])) nOther++
    }
  }
  if (c.same) expect(nOther).toBe(0)
  else expect(nOther).toBeGreaterThan(0)

  const onlySinks = (experiments.sink ?? 0) >= H
  if (!onlySinks && steps === long) {
    // with shares of the fused softmax a hot memory leaves the keys of a chunk few votes, and holds on tighter
    const share = experiments.voteFused ? 0.25 : 0.5
    expect(turnovers.filter((t) => t >= 0.2).length / turnovers.length).toBeGreaterThanOrEqual(share)
  }
})

function expectClose(actual: Float32Array, expected: number[]): void {
  expect(actual.length).toBe(expected.length)
  const worst = Math.max(0, ...expected.map((x, i) => Math.abs(actual[i]! - x) / Math.max(1, Math.abs(x))))
  expect(worst).toBeLessThanOrEqual(SCORE_TOLERANCE)
}

describe('what surrounds them', () => {
  const sizes = { nBatch: 4 * S, nUbatch: S }
  const budget = { local: 8, heavy: 16 }
  const tokens = () => new HotText({ S, H: 16, nChunks: 4 }).next(4 * S)

  it('changes nothing, bit for bit, where all are off', async () => {
    const { path: model } = await hotModel('llama', 2)
    const all = { sink: 0, voteWindow: 0, voteFused: false, voteCausal: false, voteMean: false, decay: 1 }
    const run = async (h2o: object) => {
      const context = await open({ model, ...sizes, h2o: { ...budget, ...h2o } })
      const { logits } = await context.decode(tokens(), { logits: 'all' })
      return { logits, state: await context.saveState(), memory: context.memory }
    }
    expect(await run({ experiments: { ...all, denseTail: 0 } })).toEqual(await run({}))
  })

  it('reports those that are on, sinks cut to H', async () => {
    const { path: model } = await hotModel('llama', 2)
    const warnings: string[] = []
    const experiments = { sink: 17, voteWindow: 0, decay: 0.5, denseTail: 3 }
    const onWarning = ({ code }: { code: string }) => warnings.push(code)
    const context = await open({ model, ...sizes, h2o: { ...budget, experiments }, onWarning })
    expect(context.h2o.experiments).toEqual({ sink: 16, decay: 0.5, denseTail: 3 })
    expect(warnings).toEqual(['H2O_WARN_SINK_CLAMPED'])
  })

  it('reserves graphs for what they add, so that the first call needs no more', async () => {
    const { path: model } = await hotModel('llama', 2)
    const plain = await open({ model, ...sizes, h2o: budget })
    const experiments = { voteFused: true, voteCausal: true, decay: 0.9 }
    const context = await open({ model, ...sizes, h2o: { ...budget, experiments } })
    expect(context.memory.sparseGraphNodes).toBeGreaterThan(plain.memory.sparseGraphNodes)
  })

  it.each([
    ['the same', { decay: 0.5, sink: 2 }, 24],
    ['another', { decay: 0.6, sink: 2 }, 0],
    ['no', undefined, 0],
  ])('a saved state is taken up in a context of %s experiment: %j', async (_, experiments, inherited) => {
    const { path: model } = await hotModel('llama', 2)
    const first = await open({ model, ...sizes, h2o: { ...budget, experiments: { decay: 0.5, sink: 2 } } })
    await first.decode(tokens())
    const second = await open({ model, ...sizes, h2o: experiments ? { ...budget, experiments } : budget })
    await second.loadState(await first.saveState())
    const { call } = await second.decode(tokens())
    expect(call).toMatchObject({ path: 'h2o', inherited })
  })

  it('a dense tail of so many tokens', async () => {
    const { path: model } = await hotModel('llama', 2)
    const context = await open({ model, ...sizes, h2o: { ...budget, experiments: { denseTail: S + 3 } } })
    const { calls, denseTail, path } = await context.prefill([...tokens(), ...tokens()])
    expect(calls.map(({ n, path }) => [n, path])).toEqual([
      [4 * S, 'h2o'],
      [3 * S - 3, 'h2o'],
      [S, 'dense'],
      [3, 'dense'],
    ])
    expect({ denseTail, path }).toEqual({ denseTail: S + 3, path: 'h2o' })
  })
})
