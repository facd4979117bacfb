// The engine against a second oracle, in float64 and Python (method.py, network.py). It shares no code with the engine,
// nor with test/reference: both were written from src/native/h2o/README.md. Whole sessions on whole tiny models: sparse
// and dense calls, decoding an answer behind them, cuts and aborts. The oracle attends to the engine's sets, so that a
// near tie decided the other way does not spoil the logits, and counts how many members it would have chosen too.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect } from 'vitest'
import { type Edit, f32, type ModelSpec, resolveSpec, writeModel } from '../../src/ts/model-maker/index.js'
import { open, randomTokens } from '../engine/support.js'
import { selections, testWays } from '../engine/ways.js'
import { ggufPython } from '../model/python.js'
import { compare } from './compare.js'

// scores in F32 on every machine: others are rounded, and their sets are near these and not equal
process.env.H2O_AMX = '0'
process.env.H2O_INT8 = '0'

const LOGITS_NMSE = 1e-10
const SCORE_TOLERANCE = 5e-5

// ggml takes GELU from a table of F16 values, which float64 does not meet: attention is compared
const noGelu: Edit = (name, values) => {
  if (name.endsWith('ffn_down.weight')) values.fill(0)
}

const models: Record<string, ModelSpec> = {
  llama: { arch: 'llama', kvHeads: 2 },
  'gemma2 (windows, capped logits)': {
    ...{ arch: 'gemma2', layers: 4, slidingWindow: 24, edit: noGelu },
    metadata: { 'gemma2.attn_logit_softcapping': f32(4) },
  },
  // window and chunk: nearly all of the 256 cells that they are padded to, where a lost position is missed
  'gemma3 (windows)': { arch: 'gemma3', layers: 4, slidingWindow: 100, slidingPattern: 2, edit: noGelu },
  'gpt-oss (sinks)': { arch: 'gpt-oss', layers: 4, slidingWindow: 24 },
  'gemma4 (layers that read the keys of others)': {
    ...{ arch: 'gemma4', layers: 6, sharedKvLayers: 4, slidingWindow: 24, windowHeadDim: 32, edit: noGelu },
  },
  'lfm2 (recurrent layers)': { arch: 'lfm2', layers: 4 },
}

/** One call of so many tokens; so many tokens one by one; a call that is aborted; the last so many removed. */
type Step = { call: number } | { decode: number } | { abort: number } | { cut: number }

const S = 128
const steps: Step[] = [
  { call: 20 },
  { call: 17 * S + 9 },
  { decode: 12 },
  { cut: 60 },
  { call: 40 }, // past what Local holds, so that a score that should be gone could come back
  { call: 3 * S },
  { abort: 6 * S },
  { call: 2 * S + 5 },
  { cut: 50 },
  { call: 2 * S + 5 },
  { decode: 12 },
]

const folder = mkdtempSync(join(tmpdir(), 'h2o-oracle-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const cases = Object.keys(models).flatMap((name) => selections.map((select) => ({ name, select })))

describe.skipIf(!ggufPython)('as the second oracle', () => {
  testWays(cases, '$select: $name', async ({ name, select }) => {
    const spec = { hidden: 64, headDim: 16, attentionGain: 3, ...models[name] } as ModelSpec
    const model = join(folder, 'model.gguf')
    await writeModel(model, spec)
    const [L, H] = select === 'votes' ? [16, 40] : [24, 48]
    const h2o = { local: L, heavy: H, select, trace: true } as const
    const context = await open({ model, nBatch: 32 * S, nUbatch: S, h2o })
    const job = { model, config: resolveSpec(spec), S, L, H, select, steps: [] as object[] }

    const traceOf = () =>
      context.takeTrace().map((entry) => ({
        ...entry,
        order: [...entry.order],
        memPos: [...entry.memPos],
        memScore: [...entry.memScore],
        chunkScore: [...entry.chunkScore],
      }))
    let ms = 0
    const call = async (tokens: number[]) => {
      const { call, logits, ms: took } = await context.decode(tokens, { logits: 'all' })
      expect(call.path).toBe(tokens.length > S ? 'h2o' : 'dense')
      const bytes = Buffer.from((logits as Float32Array).buffer).toString('base64')
      job.steps.push({ tokens, isSparse: call.path === 'h2o', trace: traceOf(), logits: bytes })
      ms = Math.max(ms, took)
    }
    /** What is left of it is whole chunks with windows, all or nothing without. */
    const aborted = async (tokens: number[]) => {
      const begin = context.position
      const abort = new AbortController()
      setTimeout(() => abort.abort(), ms / 8) // of the longest call
      await context.decode(tokens, { signal: abort.signal, logits: 'none' }).catch(() => {})
      const kept = tokens.slice(0, context.position - begin)
      if (kept.length > 0) job.steps.push({ tokens: kept, isSparse: true, trace: traceOf() })
    }
    for (const [seed, step] of steps.entries()) {
      if ('call' in step) await call(randomTokens(step.call, seed))
      else if ('decode' in step) for (const token of randomTokens(step.decode, seed)) await call([token])
      else if ('abort' in step) await aborted(randomTokens(step.abort, seed))
      else if (spec.arch !== 'lfm2') {
        await context.truncate(context.position - step.cut)
        job.steps.push({ cut: context.position })
      }
    }
    const compared = compare(job)
    for (const { nmse, worst } of compared) {
      expect(nmse).toBeLessThanOrEqual(LOGITS_NMSE)
      expect(worst).toBeLessThanOrEqual(SCORE_TOLERANCE)
    }
    const sum = (of: 'members' | 'alike') => compared.reduce((total, each) => total + each[of], 0)
    expect(sum('alike')).toBeGreaterThanOrEqual(0.9998 * sum('members'))
  })
})
