import { afterAll, describe, expect, it } from 'vitest'
import {
  type ContextOptions,
  createContext,
  type GenerateOptions,
  type H2oOptions,
  type H2oWarning,
  loadModel,
} from '../../../src/ts/index.js'
import { checkContextOptions, resolveContextSize } from '../../../src/ts/options.js'
import { someTokens, tinyContext, tinyModel } from '../support.js'

const model = await loadModel(await tinyModel())
afterAll(() => model.dispose())

it.each<[Record<string, unknown>, string]>([
  [{ nBatch: 0 }, 'nBatch must be an integer from 1 to 2147483647, not 0'],
  [{ nCtx: '512' }, "not '512'"],
  [{ nThreads: null }, 'not null'],
  [{ flashAttn: 'maybe' }, "flashAttn must be one of auto, on, off, not 'maybe'"],
  [{ swaFull: {} }, 'swaFull must be true or false, not of type object'],
  [{ h2o: { trace: 1 } }, 'not 1'],
])('the error of %j says what came', (options, message) => {
  expect(() => checkContextOptions({ model, ...options })).toThrow(message)
})

it('undefined is what is not given, to the compiler too', async () => {
  const none = undefined
  const h2o = {
    local: none,
    heavy: none,
    select: none,
    schedule: none,
    denseTail: none,
    decode: none,
    trace: none,
  }
  const sizes = {
    nCtx: none,
    nBatch: none,
    nUbatch: none,
    nThreads: none,
    nThreadsBatch: none,
    parallel: none,
  }
  const kinds = { flashAttn: none, typeK: none, typeV: none, swaFull: none, kvOffload: none, kvUnified: none }
  const others = { rope: none, upstreamProducts: none, embeddings: none, contBatching: none, onWarning: none }
  const all: ContextOptions = { model, h2o, ...sizes, ...kinds, ...others }
  expect(checkContextOptions(all)).toEqual(checkContextOptions({ model }))

  const ctx = await tinyContext({ model })
  const prompt = { append: none, reuse: none, from: none, denseTail: none, signal: none }
  const text: GenerateOptions = {
    ...prompt,
    nPredict: 2,
    temperature: 0,
    stop: none,
    chat: none,
    seed: none,
    topK: none,
  }
  expect((await ctx.generate(someTokens(20), text).result()).predicted).toBeGreaterThan(0)
  await ctx.dispose()
})

it('options may be what a module exports', async () => {
  const source: string = 'data:text/javascript,export const local = 64'
  const h2o: H2oOptions = await import(source)
  expect(checkContextOptions({ model, h2o })).toEqual(checkContextOptions({ model, h2o: { local: 64 } }))
})

describe('context options that make no sense', () => {
  it.each<[string, Record<string, unknown>]>([
    ['nCtx below 0', { nCtx: -1 }],
    ['nCtx no integer', { nCtx: 1.5 }],
    ['nCtx no number', { nCtx: '512' }],
    ['nCtx NaN', { nCtx: Number.NaN }],
    ['nCtx beyond 31 bits', { nCtx: 2 ** 31 }],
    ['nBatch 0', { nBatch: 0 }],
    ['nBatch below parallel', { nBatch: 8, parallel: 9 }],
    ['nUbatch 0', { nUbatch: 0 }],
    ['nBatch null', { nBatch: null }],
    ['nThreads 0', { nThreads: 0 }],
    ['nThreads too many', { nThreads: 100_000 }],
    ['parallel 0', { parallel: 0 }],
    ['parallel too many', { parallel: 65 }],
    ['parallel times nCtx beyond 31 bits', { parallel: 2, nCtx: 2 ** 30 }],
    ['flashAttn unknown', { flashAttn: 'maybe' }],
    ['typeK unknown', { typeK: 'q2_k' }],
    ['typeV of Object.prototype', { typeV: 'toString' }],
    ['quantized V without flash attention', { typeV: 'q8_0', flashAttn: 'off' }],
    ['local below 0', { h2o: { local: -1 } }],
    ['heavy no integer', { h2o: { heavy: 0.5 } }],
    ['h2o true', { h2o: true }],
    ['h2o null', { h2o: null }],
    ['schedule unknown', { h2o: { schedule: 'three-pass' } }],
    ['select unknown', { h2o: { select: 'toString' } }],
    ['select query in two passes', { h2o: { select: 'query', schedule: 'two-pass' } }],
    ['trace no boolean', { h2o: { trace: 1 } }],
    ['denseTail no integer', { h2o: { denseTail: 0.5 } }],
    ['denseTail below 0', { h2o: { denseTail: -1 } }],
    ['an unknown name', { temperature: 1 }],
    ['a name of llama.cpp', { n_ctx: 512 }],
    ['an unknown name in h2o', { h2o: { nHeavy: 4 } }],
    ['an option of old in h2o', { h2o: { experiments: { sink: 4 } } }],
    ['an unknown name for the model', { model: { path: 'x', gpuLayers: 1 } }],
    ['h2o a list', { h2o: [] }],
    ['h2o a Map', { h2o: new Map([['heavy', 4]]) }],
    ['h2o a collection', { h2o: { heavy: 4, *[Symbol.iterator]() {} } }],
    ['h2o a URL', { h2o: new URL('file:///h2o') }],
    ['h2o a promise', { h2o: Promise.resolve({}) }],
    ['model a promise', { model: Promise.resolve('model.gguf') }],
    ['trace unknown', { h2o: { trace: 'sets' } }],
    ['embeddings no boolean', { embeddings: 'yes' }],
    ['onWarning no function', { onWarning: 'log' }],
    ['model missing', { model: undefined }],
    ['model a number', { model: 5 }],
    ['model path empty', { model: '' }],
    ['model path with a NUL', { model: 'a\0b' }],
    ['model options without a path', { model: {} }],
    ['model nGpuLayers below 0', { model: { path: 'x', nGpuLayers: -1 } }],
    ['model loadMode unknown', { model: { path: 'x', loadMode: 'fast' } }],
    ['model signal no signal', { model: { path: 'x', signal: {} } }],
  ])('%s', async (_, options) => {
    const all = { model, nThreads: 1, ...options } as unknown as ContextOptions
    await expect(createContext(all)).rejects.toMatchObject({
      name: 'H2oError',
      code: 'ERR_H2O_INVALID_ARGUMENT',
    })
  })
})

describe('unknown names', () => {
  it.each<[Record<string, unknown>, string | undefined]>([
    [{ n_ctx: 1 }, 'nCtx'],
    [{ 'n-batch': 1 }, 'nBatch'],
    [{ nctx: 1 }, 'nCtx'],
    [{ NUBATCH: 1 }, 'nUbatch'],
    [{ threads: 1 }, 'nThreads'],
    [{ nThread: 1 }, 'nThreads'],
    [{ cacheTypeK: 1 }, undefined],
    [{ type_k: 1 }, 'typeK'],
    [{ x: 1 }, undefined],
    [{ n_ctx: undefined }, 'nCtx'],
  ])('%j: %s is near', (options, nearest) => {
    const [option] = Object.keys(options)
    expect(() => checkContextOptions({ model, ...options })).toThrow(
      expect.objectContaining({
        code: 'ERR_H2O_INVALID_ARGUMENT',
        message: expect.stringContaining(nearest ?? 'nCtx, '),
        details: nearest ? { option, nearest } : { option },
      }),
    )
  })
})

describe('the sizes of H2O', () => {
  it.each<
    [ContextOptions['h2o'], number, { local: number; heavy: number; denseTail: number; select: string }]
  >([
    [{}, 512, { local: 128, heavy: 640, denseTail: 64, select: 'query' }],
    [{}, 1024, { local: 128, heavy: 640, denseTail: 64, select: 'query' }],
    [{}, 64, { local: 16, heavy: 640, denseTail: 64, select: 'query' }],
    [{ heavy: 8 }, 512, { local: 128, heavy: 8, denseTail: 64, select: 'query' }],
    [{ select: 'votes' }, 1024, { local: 256, heavy: 256, denseTail: 0, select: 'votes' }],
    [{ schedule: 'two-pass' }, 512, { local: 256, heavy: 255, denseTail: 0, select: 'votes' }],
    [{ select: 'votes', denseTail: 7 }, 512, { local: 256, heavy: 255, denseTail: 7, select: 'votes' }],
  ])('%j in chunks of %i: %j', async (h2o, nUbatch, expected) => {
    await using context = await createContext({ model, nCtx: 2048, nUbatch, ...(h2o && { h2o }) })
    expect(context.h2o).toMatchObject(expected)
  })
})

it('grow with what they choose from', async () => {
  const wide = await tinyModel({ heads: 3, kvHeads: 1, hidden: 48, layers: 1, context: 8192 })
  await using context = await createContext({ model: wide, nCtx: 8192, nThreads: 1, h2o: { trace: true } })
  expect(context.h2o).toMatchObject({ heavy: 640, heavyGrows: true })
  const { calls } = await context.prefill(someTokens(6100), { logits: 'none' })
  expect(calls.every(({ path }) => path === 'h2o' || path === 'dense')).toBe(true)
  const sizes = context.takeTrace().map(({ pos, nMem }) => [pos, nMem])
  expect(sizes.length).toBeGreaterThan(0)
  for (const [pos = 0, nMem] of sizes) {
    const candidates = Math.max(0, pos - 128)
    // beyond 640 candidates
    const most = Math.max(640, Math.min(candidates - 1, 4096 + Math.floor(candidates / 16)))
    expect(nMem).toBe(Math.min(candidates, most))
  }
  expect(Math.max(...sizes.map(([, nMem = 0]) => nMem))).toBeGreaterThan(4096)
})

describe('warnings', () => {
  const warningsOf = (options: Partial<ContextOptions>) =>
    checkContextOptions({ model, ...options }).warnings.map(({ code }) => code)

  it.each<[Partial<ContextOptions>, string[]]>([
    [{}, []],
    [{ nBatch: 4096, nUbatch: 1024 }, []],
    [{ nUbatch: 64 }, []],
    [{ h2o: { local: 500 } }, []],
    [{ h2o: { local: 256, heavy: 256 }, nUbatch: 512 }, []],
    [{ h2o: { local: 300, heavy: 300 }, nUbatch: 512 }, []],
    [{ h2o: { local: 300, heavy: 300, select: 'votes' }, nUbatch: 512 }, ['H2O_WARN_BUDGET_CLAMPED']],
    [{ h2o: { local: 600, heavy: 0 }, nUbatch: 512 }, ['H2O_WARN_BUDGET_CLAMPED']],
    [{ nBatch: 1000, nUbatch: 300 }, ['H2O_WARN_BATCH_ROUNDED']],
    [{ nBatch: 1000, nUbatch: 300, h2o: false }, []],
    [{ nBatch: 512 }, ['H2O_WARN_BATCH_TOO_SMALL']],
    [{ nBatch: 512, h2o: { local: 0, heavy: 0 } }, []],
    [{ nBatch: 256, nUbatch: 1024, h2o: false }, ['H2O_WARN_UBATCH_CLAMPED']],
    [{ nBatch: 256, h2o: false }, []],
  ])('%j: %j', (options, codes) => {
    expect(warningsOf(options)).toEqual(codes)
  })

  it('tell of a context above the training context', async () => {
    const codes: string[] = []
    const onWarning = (warning: H2oWarning) => codes.push(warning.code)
    await using short = await loadModel(await tinyModel({ context: 512 }))
    for (const nCtx of [512, undefined, 0, 513]) {
      const context = await createContext({
        model: short,
        nThreads: 1,
        onWarning,
        ...(nCtx !== undefined && { nCtx }),
      })
      await context.dispose()
    }
    expect(codes).toEqual(['H2O_WARN_CONTEXT_ABOVE_TRAINING'])
  })

  it('go to the listener, once', async () => {
    const warnings: H2oWarning[] = []
    const context = await tinyContext({
      model,
      h2o: { local: 500, heavy: 500, select: 'votes' },
      onWarning: (warning) => warnings.push(warning),
    })
    expect(warnings).toEqual([{ code: 'H2O_WARN_BUDGET_CLAMPED', message: expect.any(String) }])
    await context.dispose()
  })

  it('go to the process otherwise', async () => {
    const warning = new Promise<NodeJS.ErrnoException>((resolve) => process.once('warning', resolve))
    const context = await tinyContext({ model, nBatch: 32, nUbatch: 64 })
    expect(await warning).toMatchObject({ name: 'H2oWarning', code: 'H2O_WARN_UBATCH_CLAMPED' })
    await context.dispose()
  })
})

describe('sizes', () => {
  it.each([
    [undefined, 32768, 32768],
    [undefined, 131072, 32768],
    [undefined, 1000, 1024],
    [0, 32768, 32768],
    [1, 32768, 256],
    [257, 32768, 512],
    [65536, 32768, 65536],
  ])('nCtx %s of a model trained on %i is %i', (nCtx, nCtxTrain, size) => {
    expect(resolveContextSize(nCtx, nCtxTrain, 1)).toBe(size)
  })

  it('need a training context or nCtx', () => {
    expect(() => resolveContextSize(undefined, 0, 1)).toThrow(/training context/)
    expect(() => resolveContextSize(0, 0, 1)).toThrow(/training context/)
  })

  it('are what the context says', async () => {
    const context = await tinyContext({ model, nCtx: 300, nBatch: 4096, nUbatch: 128 })
    expect(context).toMatchObject({ nCtx: 512, nBatch: 512, nUbatch: 128, position: 0 })
    expect(context.h2o).toMatchObject({ schedule: 'single-pass', chunk: 128 })
    await context.dispose()
  })
})
