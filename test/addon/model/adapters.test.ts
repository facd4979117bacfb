/**
 * LoRA adapters: what does not belong to the model, and states that were made with others. Parity: test/parity/lora.
 */

import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { createContext, loadModel } from '../../../src/ts/index.js'
import { f32, string, u32 } from '../../../src/ts/model-maker/gguf.js'
import { type AdapterSpec, writeAdapter } from '../../parity/adapter.js'
import { scratch, someTokens, tinyContext, tinyModel } from '../../ts/support.js'

const weights = { 'blk.0.attn_q.weight': [64, 64] } as const
let nFiles = 0
const adapter = (spec: Partial<AdapterSpec> = {}) =>
  writeAdapter(scratch(`adapter-${nFiles++}.gguf`), { weights, ...spec })
const prompt = someTokens(400)

const broken: [string, Partial<AdapterSpec>][] = [
  ['of another architecture', { arch: 'qwen3' }],
  ['that is no adapter', { metadata: { 'general.type': string('model') } }],
  ['whose type is a number', { metadata: { 'general.type': u32(1) } }],
  ['whose architecture is a number', { metadata: { 'general.architecture': u32(1) } }],
  ['of another kind', { metadata: { 'adapter.type': string('dora') } }],
  ['whose alpha is a text', { metadata: { 'adapter.lora.alpha': string('8') } }],
  ['whose alpha is no number', { metadata: { 'adapter.lora.alpha': f32(Number.NaN) } }],
  [
    'with tokens that switch it on',
    { metadata: { 'adapter.alora.invocation_tokens': { type: 'u32[]', value: [1] } } },
  ],
  ['whose alignment is odd', { metadata: { 'general.alignment': u32(3) } }],
  ['whose alignment is a text', { metadata: { 'general.alignment': string('32') } }],
  ['for a tensor that is not there', { weights: { 'blk.9.attn_q.weight': [64, 64] } }],
  ['of other rows', { weights: { 'blk.0.attn_q.weight': [64, 128] } }],
  ['of other columns', { weights: { 'blk.0.attn_q.weight': [128, 64] } }],
  ['with a third dimension', { weights: { 'blk.0.attn_q.weight': [64, 64, 2] } }],
  ['with one half', { edit: ([a]) => (a ? [a] : []) }],
  ['with ranks that differ', { edit: ([a, b]) => (a && b ? [{ ...a, shape: [64, 2] }, b] : []) }],
  ['with something else', { edit: ([a]) => (a ? [{ ...a, name: 'blk.0.attn_q.weight' }] : []) }],
  [
    'for the embedding, with ranks that differ',
    {
      edit: () => [
        { name: 'token_embd.weight.lora_a', shape: [4, 259], type: 'f32' },
        { name: 'token_embd.weight.lora_b', shape: [2, 64], type: 'f32' },
      ],
    },
  ],
]

it.each(broken)('refuses one %s', async (_, spec) => {
  const path = await adapter(spec)
  const loading = loadModel({ path: await tinyModel({ vocab: 259 }), loras: [{ path }] })
  await expect(loading).rejects.toMatchObject({ code: 'ERR_H2O_ADAPTER_INVALID', details: { path } })
})

it('refuses one for an embedding that is the output, too', async () => {
  const path = await adapter({
    edit: () => [
      { name: 'token_embd.weight.lora_a', shape: [4, 259], type: 'f32' },
      { name: 'token_embd.weight.lora_b', shape: [4, 64], type: 'f32' },
    ],
  })
  const loras = [{ path }]
  const tied = loadModel({ path: await tinyModel({ vocab: 259, tied: true }), loras })
  await expect(tied).rejects.toMatchObject({ code: 'ERR_H2O_ADAPTER_INVALID' })
  await using model = await loadModel({ path: await tinyModel({ vocab: 259 }), loras })
  await using context = await tinyContext({ model })
  expect((await context.prefill(prompt)).path).toBe('h2o')
})

it('refuses files that are none', async () => {
  const path = await tinyModel()
  const damaged = scratch('damaged.gguf')
  await writeFile(damaged, 'GGUF and no more')
  for (const [file, code] of [
    [scratch('nowhere.gguf'), 'ERR_H2O_ADAPTER_NOT_FOUND'],
    [scratch(''), 'ERR_H2O_ADAPTER_INVALID'],
    [damaged, 'ERR_H2O_ADAPTER_INVALID'],
    [path, 'ERR_H2O_ADAPTER_INVALID'],
  ] as const) {
    await expect(loadModel({ path, loras: [{ path: file }] })).rejects.toMatchObject({ code })
  }
})

it('refuses a state of another adapter, or of another scale', async () => {
  const path = await tinyModel()
  const one = await adapter()
  const other = await adapter({ weights: { 'blk.1.attn_q.weight': [64, 64] } })
  const withLoras = (...loras: { path: string; scale?: number }[]) => tinyContext({ model: { path, loras } })

  await using context = await withLoras({ path: one })
  await context.prefill(prompt)
  const state = await context.saveState()

  await using same = await withLoras({ path: one, scale: 1 })
  expect((await same.loadState(state)).position).toBe(400)
  for (const loras of [[], [{ path: other }], [{ path: one, scale: 2 }], [{ path: one }, { path: other }]]) {
    await using context = await withLoras(...loras)
    await expect(context.loadState(state)).rejects.toMatchObject({ code: 'ERR_H2O_STATE_INVALID' })
  }
})

it('serves several contexts at once, and several adapters', async () => {
  const loras = [
    { path: await adapter() },
    { path: await adapter({ weights: { 'blk.1.attn_v.weight': [64, 32] } }) },
  ]
  await using model = await loadModel({ path: await tinyModel(), loras })
  const contexts = await Promise.all([1, 2, 3].map(() => tinyContext({ model })))
  const results = await Promise.all(contexts.map((context) => context.prefill(prompt)))
  expect(results.map(({ path }) => path)).toEqual(['h2o', 'h2o', 'h2o'])
  for (const context of contexts) await context.dispose()
})

it('a scale of 0 is no adapter', async () => {
  const path = await tinyModel()
  await using without = await tinyContext({ model: path })
  await using context = await createContext({
    model: { path, loras: [{ path: await adapter(), scale: 0 }] },
    nCtx: 1024,
    nBatch: 192,
    nUbatch: 64,
    nThreads: 1,
    h2o: { local: 16, heavy: 16 },
  })
  expect((await context.prefill(prompt)).logits).toEqual((await without.prefill(prompt)).logits)
})

it.each([
  [[{ path: '' }]],
  [[{ path: 'a\0b' }]],
  [[{}]],
  ['a.gguf'],
  [[{ path: 'a', scale: Number.NaN }]],
  [[{ path: 'a', scale: Number.POSITIVE_INFINITY }]],
  [[{ path: 'a', weight: 1 }]],
  [Array(2000).fill({ path: 'a' })],
])('refuses loras %j', async (loras) => {
  await expect(loadModel({ path: await tinyModel(), loras: loras as never })).rejects.toMatchObject({
    code: 'ERR_H2O_INVALID_ARGUMENT',
  })
})
