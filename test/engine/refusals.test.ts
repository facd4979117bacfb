// Every class of model and setting that H2O refuses: the call is dense, says why, and its logits are those of a context
// with H2O off, which the parity tests compare with stock llama.cpp.

import { expect } from 'vitest'
import type { Context, ContextOptions, Reason, Selection } from '../../src/ts/index.js'
import type { ModelSpec } from '../../src/ts/model-maker/index.js'
import { modelFile, open, randomTokens } from './support.js'
import { policies, selections, testWays, type Way } from './ways.js'

const S = 64
const N = 3 * S + 5
const someBudget = { local: 16, heavy: 16 }

interface Refusal extends Way {
  name: string
  reason: Reason
  select?: Selection
  spec?: ModelSpec
  budget?: { local: number; heavy: number }
  settings?: Partial<ContextOptions>
  /** before the call that must be refused */
  prepare?: (context: Context) => Promise<void>
}

const refusals: Refusal[] = [
  { name: 'off', reason: 'off', budget: { local: 0, heavy: 0 } },
  { name: 'ALiBi (mpt)', reason: 'unsupported-attention', spec: { arch: 'mpt' } },
  { name: 'a recurrent model (mamba)', reason: 'unsupported-memory', spec: { arch: 'mamba' } },
  {
    name: 'recurrent layers and windows, no other attention (lfm2)',
    reason: 'unsupported-memory',
    spec: { arch: 'lfm2', layers: 4, slidingWindow: 32 },
  },
  {
    name: 'windows, two-pass',
    reason: 'unsupported-schedule',
    spec: { arch: 'gemma3', layers: 6 },
    schedule: 'two-pass',
  },
  {
    name: 'recurrent layers, two-pass',
    reason: 'unsupported-schedule',
    spec: { arch: 'jamba', layers: 8 },
    schedule: 'two-pass',
  },
  {
    name: 'a context that returns embeddings',
    reason: 'unsupported-context',
    settings: { embeddings: true },
  },
  { name: '-b <= -ub', reason: 'batch-too-small', settings: { nBatch: S, nUbatch: S } },
  {
    name: 'a cache with a hole after a middle removal',
    reason: 'kv-not-contiguous',
    prepare: async (context) => {
      await context.decode(randomTokens(50, 7))
      await context.removeRange(10, 20)
    },
  },
]

const ways = refusals.flatMap((refusal) =>
  refusal.schedule
    ? [refusal]
    : selections.map((select) => ({ ...refusal, select, name: `${refusal.name}, ${select}` })),
)

testWays(ways, '$name: $reason', async (way) => {
  const { reason, spec, budget = someBudget, settings, prepare, select, schedule } = way
  const model = await modelFile(spec ?? { arch: 'llama' })
  const tokens = randomTokens(N)

  const run = async (h2o: ContextOptions['h2o']) => {
    const context = await open({
      model,
      nBatch: 4 * S,
      nUbatch: S,
      typeK: 'f16',
      typeV: 'f16',
      upstreamProducts: true,
      h2o,
      ...settings,
    })
    await prepare?.(context)
    const logits: Float32Array[] = []
    const calls = []
    for (let i = 0; i < N; i += context.nBatch) {
      const result = await context.decode(tokens.slice(i, i + context.nBatch), { logits: 'all' })
      logits.push(result.logits as Float32Array)
      calls.push(result.call)
    }
    return { context, calls, logits }
  }

  const asked = await run({ ...budget, select, schedule })
  const off = await run(false)

  for (const call of asked.calls)
    expect(call).toMatchObject({ path: 'dense', reason, inherited: 0, chunks: 0 })
  expect(asked.logits).toEqual(off.logits)
})

testWays(policies, '$select: a short call says one-chunk, and so does decoding', async ({ select }) => {
  const context = await open({
    model: await modelFile({ arch: 'llama' }),
    nBatch: 4 * S,
    nUbatch: S,
    h2o: { ...someBudget, select },
  })
  expect(context.h2o).toMatchObject({ covered: true, reason: null })
  for (const n of [S, 1]) {
    expect((await context.decode(randomTokens(n))).call).toMatchObject({
      path: 'dense',
      reason: 'one-chunk',
    })
  }
})
