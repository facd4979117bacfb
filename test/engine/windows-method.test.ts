// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// Models with sliding windows against the float64 reference: windows, sinks, capped logits, and the sparse layers among
// them. As method.test.ts and query-method.test.ts: the reference replays the engine's sets.

import { afterEach, expect } from 'vitest'
import { type Edit, f32, type Metadata, type ModelSpec } from '../../src/ts/model-maker/index.js'
import { blocksOf, checkSets } from '../reference/method/query-replay.js'
import { checkSelections, setsOf } from '../reference/method/replay.js'
import { nmse, ReferenceSession } from '../reference/method/session.js'
import { open, plainModel, randomTokens } from './support.js'
import { selections, testWays } from './ways.js'

// scores in F32 on every machine: others are rounded, and their sets are near these and not equal
process.env.H2O_AMX = '0'
process.env.H2O_INT8 = '0'

const SCORE_TOLERANCE = 1e-5
const LOGITS_NMSE = 1e-9

/**
 * ggml's GELU comes from a table of F16 values, which no reference in float64 meets: without it attention is compared.
 */
const noGelu: Edit = (name, values) => {
  if (name.endsWith('ffn_down.weight')) values.fill(0)
}

// so low that it shows without large logits, which are rounded more
const lowCap: Metadata = { 'gemma2.attn_logit_softcapping': f32(4) }

const models: Record<string, ModelSpec> = {
  'gpt-oss-like': { arch: 'gpt-oss', layers: 4, slidingWindow: 24 },
  'gemma3-like': { arch: 'gemma3', layers: 4, slidingWindow: 24, slidingPattern: 2, edit: noGelu },
  'gemma2-like': { arch: 'gemma2', layers: 4, slidingWindow: 24, edit: noGelu, metadata: lowCap },
}

const cases = Object.keys(models).flatMap((name) =>
  (['fused', 'composed'] as const).flatMap((kernels) =>
    selections.map((select) => ({ name, kernels, select })),
  ),
)

const isFull = (spec: ModelSpec, layer: number) => (layer + 1) % (spec.slidingPattern ?? 2) === 0

afterEach(() => {
  delete process.env.H2O_FUSED
})

testWays(cases, '$select, $kernels: $name', async ({ name, kernels, select }) => {
  process.env.H2O_FUSED = kernels === 'fused' ? '1' : '0'
  const spec = models[name]!
  const [S, L, H] = select === 'votes' ? [32, 8, 16] : [96, 24, 40]
  const model = await plainModel(spec)
  const context = await open({
    model: model.path,
    nBatch: 16 * S,
    nUbatch: S,
    h2o: { local: L, heavy: H, select, trace: true },
  })
  const reference = new ReferenceSession(model.reference, { S, L, H, select })
  const layers = Array.from({ length: spec.layers! }, (_, layer) => layer).filter((l) => isFull(spec, l))

  // a dense call, a sparse one, some tokens one by one, a sparse one
  const sizes = [20, 5 * S + 9, 1, 1, 3 * S]
  for (const [i, n] of sizes.entries()) {
    const tokens = randomTokens(n, 10 + i)
    const { call, logits } = await context.decode(tokens, { logits: 'all' })
    const trace = call.path === 'h2o' ? context.takeTrace() : []
    const forced = select === 'votes' ? { forcedMemory: setsOf(trace) } : { forcedBlocks: blocksOf(trace) }
    const expected = reference.call(tokens, call.path === 'h2o' ? forced : {})

    const { path, pos, inherited, chunks } = expected
    expect(call).toMatchObject({ path, pos, n, chunks })
    if (select === 'query') expect(call.inherited).toBe(inherited)
    expect(nmse(logits!, expected.logits)).toBeLessThanOrEqual(LOGITS_NMSE)

    expect(checkSets(expected.blocks, SCORE_TOLERANCE)).toEqual([])
    expect(checkSelections(expected.trace, { L, H }, SCORE_TOLERANCE)).toEqual([])
    if (path === 'h2o') expect([...new Set(trace.map(({ layer }) => layer))]).toEqual(layers)
    for (const [j, entry] of (select === 'votes' ? trace : []).entries()) {
      const { layer, heads, pos, n } = expected.trace[j]!
      expect([entry.layer, entry.pos, entry.nChunk, entry.nHeads]).toEqual([layer, pos, n, heads.length])
      expectClose(
        entry.memScore,
        heads.flatMap(({ memScore }) => [...memScore]),
      )
      expectClose(
        entry.chunkScore,
        heads.flatMap(({ chunkScore }) => [...chunkScore]),
      )
      if (spec.arch !== 'gpt-oss') continue
      // sinks take a share of every query that votes
      const sum = heads.flatMap(({ chunkScore }) => [...chunkScore]).reduce((a, b) => a + b, 0)
      expect(sum).toBeLessThan(0.99 * n * model.reference.hparams.nHead)
    }
  }
})

function expectClose(actual: Float32Array, expected: number[]): void {
  expect(actual.length).toBe(expected.length)
  const worst = Math.max(0, ...expected.map((x, i) => Math.abs(actual[i]! - x) / Math.max(1, Math.abs(x))))
  expect(worst).toBeLessThanOrEqual(SCORE_TOLERANCE)
}
