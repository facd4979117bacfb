// LoRA adapters: the logits of stock where H2O is off, and where it is on a sparse path that they change.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { ContextOptions, LoraOptions } from '../../src/ts/index.js'
import type { ModelSpec } from '../../src/ts/model-maker/index.js'
import { modelFile, open, randomTokens } from '../engine/support.js'
import { selections } from '../engine/ways.js'
import { type AdapterSpec, merged, writeAdapter } from './adapter.js'
import { stockLogits } from './stock.js'

const folder = mkdtempSync(join(tmpdir(), 'h2o-lora-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const S = 64
const N_BATCH = 4 * S

const attention: AdapterSpec['weights'] = {
  'blk.0.attn_q.weight': [128, 128],
  'blk.0.attn_v.weight': [128, 64],
  'blk.1.attn_k.weight': [128, 64],
  'blk.1.attn_output.weight': [128, 128],
}

const cases: [string, ModelSpec, AdapterSpec][] = [
  [
    'llama, all kinds of matrices',
    { arch: 'llama' },
    {
      weights: {
        ...attention,
        'blk.0.ffn_down.weight': [256, 128],
        'output.weight': [128, 320],
      },
      // the embedding's pair is the other way round
      edit: (tensors) => [
        ...tensors,
        { name: 'token_embd.weight.lora_a', shape: [4, 320], type: 'f32' },
        { name: 'token_embd.weight.lora_b', shape: [4, 128], type: 'f32' },
      ],
    },
  ],
  [
    'qwen3moe, experts',
    { arch: 'qwen3moe' },
    {
      arch: 'qwen3moe',
      weights: {
        ...attention,
        'blk.1.ffn_up_exps.weight': [128, 256, 4],
        'blk.0.ffn_down_exps.weight': [256, 128, 4],
      },
    },
  ],
  ['gemma3, windows', { arch: 'gemma3', layers: 6 }, { arch: 'gemma3', weights: attention }],
]

async function ours(model: string, loras: LoraOptions[], tokens: number[], h2o: ContextOptions['h2o']) {
  const context = await open({
    model: { path: model, loras },
    nCtx: 1024,
    nBatch: N_BATCH,
    nUbatch: S,
    typeK: 'f16',
    typeV: 'f16',
    h2o: h2o ?? false,
  })
  const logits: number[] = []
  const paths: string[] = []
  for (let i = 0; i < tokens.length; i += N_BATCH) {
    const { logits: rows, call } = await context.decode(tokens.slice(i, i + N_BATCH), { logits: 'all' })
    logits.push(...(rows as Float32Array))
    paths.push(call.path)
  }
  return { logits: Float32Array.from(logits), paths }
}

test.each(cases)('%s', async (_, spec, adapter) => {
  const model = await modelFile({ ...spec, vocab: 320, ffn: 256 })
  const path = await writeAdapter(join(folder, `${spec.arch}.gguf`), adapter)
  const tokens = randomTokens(N_BATCH + S + 9)
  const settings = { nBatch: N_BATCH, nUbatch: S, nThreads: 2, flashAttn: 'off', type: 'f16' } as const

  const lora = { path, scale: 0.75 }
  const dense = await ours(model, [lora], tokens, false)
  expect(dense.logits).toEqual(await stockLogits(model, tokens, { ...settings, lora }))
  expect(dense.logits).not.toEqual(await stockLogits(model, tokens, settings))

  const budget = { local: 16, heavy: 16, select: 'query' } as const
  const sparse = await ours(model, [lora], tokens, budget)
  expect(sparse.paths).toEqual(['h2o', 'h2o'])
  expect(sparse.logits).not.toEqual((await ours(model, [], tokens, budget)).logits)
  expect(sparse.logits).toEqual((await ours(model, [lora], tokens, budget)).logits)
})

test.each(
  selections,
)('a sparse prefill with an adapter is one of a model that has it in its weights, %s', async (select) => {
  const spec = { arch: 'llama', vocab: 320, ffn: 256 } as const
  const adapter = { weights: { ...attention, 'blk.0.ffn_down.weight': [256, 128] } } satisfies AdapterSpec
  const path = await writeAdapter(join(folder, 'merged.gguf'), adapter)
  const tokens = randomTokens(N_BATCH + S + 9)
  const budget = { local: 16, heavy: 16, select }
  const apart = await ours(await modelFile(spec), [{ path, scale: 0.5 }], tokens, budget)
  const whole = await ours(await modelFile({ ...spec, edit: merged(adapter, 0.5) }), [], tokens, budget)
  const without = await ours(await modelFile(spec), [], tokens, budget)
  expect(apart.paths).toEqual(['h2o', 'h2o'])
  expect(nmse(apart.logits, whole.logits)).toBeLessThan(1e-6)
  expect(nmse(without.logits, whole.logits)).toBeGreaterThan(1e-3)
})

function nmse(a: Float32Array, b: Float32Array): number {
  const sum = (of: (i: number) => number) => b.reduce((total, _, i) => total + of(i), 0)
  return sum((i) => ((a[i] ?? 0) - (b[i] ?? 0)) ** 2) / sum((i) => (b[i] ?? 0) ** 2)
}
