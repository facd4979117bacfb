/** Where a model goes and what is read in place of its metadata. */

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it, vi } from 'vitest'
import {
  createContext,
  type KvOverride,
  listDevices,
  loadModel,
  type ModelOptions,
} from '../../../src/ts/index.js'
import { f32, u32 } from '../../../src/ts/model-maker/gguf.js'
import { someTokens, tinyContext, tinyModel } from '../support.js'

const prompt = someTokens(400)
const load = async (options: Partial<ModelOptions>, spec = {}) => {
  await using model = await loadModel({ path: await tinyModel(spec), ...options })
  await using context = await tinyContext({ model })
  return await context.prefill(prompt)
}
const plain = await load({})
const experts = { arch: 'qwen3moe' } as const

it.each<[string, Partial<ModelOptions>]>([
  ['read', { loadMode: 'none' }],
  ['mapped', { loadMode: 'mmap' }],
  ['past the page cache', { loadMode: 'dio' }],
  ['on no device', { devices: [] }],
  [
    'with tensors on the CPU',
    { overrideTensors: [{ pattern: String.raw`blk\.[01]\.ffn_(up|down)`, buffer: 'CPU' }] },
  ],
  ['with feed-forward weights on the CPU', { cpuFfn: 1 }],
])('%s it is the same model', async (_, options) => {
  const { path, logits } = await load(options)
  expect(path).toBe('h2o')
  expect(logits).toEqual(plain.logits)
})

it.each([true, 1, 2 ** 31 - 1])('experts on the CPU: %s', async (cpuMoe) => {
  expect((await load({ cpuMoe }, experts)).logits).toEqual((await load({}, experts)).logits)
})

it('warns where there is no device to split among', async () => {
  expect(listDevices()).toEqual([])
  const onWarning = vi.fn()
  await load({ splitMode: 'row', tensorSplit: [3, 1], mainGpu: 1, onWarning })
  expect(onWarning.mock.calls).toEqual([[expect.objectContaining({ code: 'H2O_WARN_NO_DEVICE' })]])
  await using context = await tinyContext({
    model: { path: await tinyModel(), tensorSplit: [1] },
    onWarning,
    kvOffload: false,
  })
  expect(context.position).toBe(0)
  expect(onWarning).toHaveBeenCalledTimes(2)
})

it.skipIf(process.platform !== 'linux')('what onWarning throws leaves nothing loaded', async () => {
  const path = await tinyModel({}, 'warned')
  const isMapped = () => readFileSync('/proc/self/maps', 'utf8').includes(path)
  const model = await loadModel(path)
  expect(isMapped()).toBe(true)
  await model.dispose()
  const onWarning = () => {
    throw new Error('no warnings, please')
  }
  await expect(loadModel({ path, tensorSplit: [1], onWarning })).rejects.toThrow('no warnings, please')
  expect(isMapped()).toBe(false)
})

const bad: [string, Record<string, unknown>][] = [
  ['a device that is not there', { devices: ['CUDA7'] }],
  ['the CPU as a device', { devices: ['CPU'] }],
  ['a device without a name', { devices: [''] }],
  ['devices as a text', { devices: 'none' }],
  ['an unknown split', { splitMode: 'half' }],
  ['tensors split among no device', { splitMode: 'tensor' }],
  ['a negative share', { tensorSplit: [1, -1] }],
  ['a share that is no number', { tensorSplit: [Number.NaN] }],
  ['more shares than devices', { tensorSplit: Array(200).fill(1) }],
  ['a negative device', { mainGpu: -1 }],
  ['a buffer that is not there', { overrideTensors: [{ pattern: 'ffn', buffer: 'CUDA0' }] }],
  ['a pattern without a buffer', { overrideTensors: [{ pattern: 'ffn' }] }],
  ['a negative count', { cpuMoe: -1 }],
  ['an unknown load mode', { loadMode: 'fast' }],
]
const patterns = [
  '',
  '(',
  '[',
  '[z-a]',
  '*',
  'a{2,1}',
  '(a)\\1',
  '\\',
  '(?<x>a)',
  'ä',
  'a\nb',
  'x'.repeat(1025),
  'a{1001}',
  '(a{100}){100}',
  '((a{10}){10}){11}',
  'a{99999999999}',
  '(?=',
]

it.each([
  ...bad,
  ...patterns.map((pattern): [string, object] => [
    `the pattern ${pattern.slice(0, 20)}`,
    { overrideTensors: [{ pattern, buffer: 'CPU' }] },
  ]),
])('refuses %s', async (_, options) => {
  await expect(load(options as Partial<ModelOptions>)).rejects.toMatchObject({
    code: 'ERR_H2O_INVALID_ARGUMENT',
  })
})

// each of these takes a backtracking matcher longer than anybody waits, or deeper than a stack is
it.each([
  '(a*)*(b*)*(.*)*(.*)*x',
  '((a|a)*|.*)*$^',
  '(|)'.repeat(340),
  `${'('.repeat(500)}a${')'.repeat(500)}`,
  '(.?){1000}x',
  `(${'a|'.repeat(500)}a)*x`,
  '(.*.*.*.*.*.*.*.*.*.*.*.*.*.*)*#',
  '(?!.*(.*)*x)(?=(.|.)*)zz',
])('matches %s in time', async (pattern) => {
  expect((await load({ overrideTensors: [{ pattern, buffer: 'CPU' }] })).logits).toEqual(plain.logits)
}, 20_000)

const key = (name: string) => `llama.${name}`
const override = (item: KvOverride) => ({ overrideKv: [item] })

it('metadata is what the same in the file is', async () => {
  const metadata = { 'llama.rope.freq_base': f32(500_000) }
  const { logits } = await load(override({ key: key('rope.freq_base'), type: 'float', value: 500_000 }))
  expect(logits).toEqual((await load({}, { metadata })).logits)
  expect(logits).not.toEqual(plain.logits)
  const context = override({ key: key('context_length'), type: 'int', value: 777 })
  await using model = await loadModel({ path: await tinyModel(), ...context })
  expect(model.nCtxTrain).toBe(777)
  await using bos = await loadModel({
    path: await tinyModel({ addBos: true }),
    ...override({ key: 'tokenizer.ggml.add_bos_token', type: 'bool', value: false }),
  })
  expect([bos.addBos, bos.tokenize('a').length]).toEqual([false, 1])
})

it('mends what is wrong in the file', async () => {
  const path = await tinyModel({ metadata: { 'llama.rope.dimension_count': u32(1000) } })
  await expect(loadModel(path)).rejects.toMatchObject({ code: 'ERR_H2O_MODEL_INVALID' })
  await using model = await loadModel({
    path,
    ...override({ key: key('rope.dimension_count'), type: 'int', value: 16 }),
  })
  await using context = await tinyContext({ model })
  expect((await context.prefill(prompt)).path).toBe('h2o')
})

it.each<[string, 'int' | 'float', number]>([
  ['attention.layer_norm_rms_epsilon', 'float', -1],
  ['block_count', 'int', 0],
  ['block_count', 'int', 100_000],
  ['attention.head_count', 'int', 0],
  ['attention.head_count', 'int', 3],
  ['attention.head_count_kv', 'int', 0],
  ['attention.head_count_kv', 'int', 3],
  ['embedding_length', 'int', -1],
  ['embedding_length', 'int', 0],
  ['rope.dimension_count', 'int', 1000],
  ['rope.dimension_count', 'int', -2],
  ['expert_count', 'int', 1 << 20],
])('refuses %s, %s %s', async (name, type, value) => {
  const overrideKv = [{ key: key(name), type, value }]
  await expect(load({ overrideKv })).rejects.toMatchObject({ code: 'ERR_H2O_MODEL_INVALID' })
})

it.each<[string, unknown]>([
  ['another type than the file has', { key: 'llama.block_count', type: 'float', value: 2 }],
  ['a list', { key: 'tokenizer.ggml.tokens', type: 'str', value: 'a' }],
  ['a number of more bits', { key: 'a', type: 'int', value: 2 ** 32 }],
  ['a fraction', { key: 'a', type: 'int', value: 0.5 }],
  ['a number that is none', { key: 'a', type: 'float', value: Number.NaN }],
  ['a long text', { key: 'a', type: 'str', value: 'x'.repeat(128) }],
  ['a long key', { key: 'x'.repeat(128), type: 'int', value: 1 }],
  ['no key', { key: '', type: 'int', value: 1 }],
  ['no value', { key: 'a', type: 'int' }],
  ['no type', { key: 'a', value: 1 }],
  ['another type', { key: 'a', type: 'list', value: 1 }],
])('refuses %s', async (_, item) => {
  await expect(load({ overrideKv: [item as KvOverride] })).rejects.toMatchObject({
    code: 'ERR_H2O_INVALID_ARGUMENT',
  })
})

it('takes a key once', async () => {
  const item = { key: 'a', type: 'int', value: 1 } as const
  await expect(load({ overrideKv: [item, item] })).rejects.toMatchObject({ code: 'ERR_H2O_INVALID_ARGUMENT' })
})

it('a model that is not causal is one where metadata says so, too', async () => {
  const item = { key: key('attention.causal'), type: 'bool', value: false } as const
  await using context = await createContext({
    model: { path: await tinyModel(), overrideKv: [item] },
    nCtx: 1024,
    nBatch: 192,
    nUbatch: 64,
    nThreads: 1,
  })
  const { calls } = await context.prefill(prompt)
  expect(calls.every(({ n, path }) => n <= 64 && path === 'dense')).toBe(true)
})

it('refuses a state of other metadata', async () => {
  const path = await tinyModel()
  await using context = await tinyContext({ model: path })
  await context.prefill(prompt)
  const state = await context.saveState()
  const item = { key: key('rope.freq_base'), type: 'float', value: 5000 } as const
  await using other = await tinyContext({ model: { path, overrideKv: [item] } })
  await expect(other.loadState(state)).rejects.toMatchObject({ code: 'ERR_H2O_STATE_INVALID' })
})

/** A build with GGML_RPC=ON: test/addon/model/rpc.test.ts has a folder of its own. */
const hasRpc = existsSync(fileURLToPath(new URL('../../../build/bin/ggml-rpc-server', import.meta.url)))

it.skipIf(hasRpc)('says which build has RPC', async () => {
  await expect(load({ rpc: ['127.0.0.1:1'] })).rejects.toMatchObject({
    code: 'ERR_H2O_INVALID_ARGUMENT',
    details: { option: 'rpc' },
  })
})
