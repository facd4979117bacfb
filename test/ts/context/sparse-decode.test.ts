/** Sparse decoding: options, answers that use it, and what is refused. */

import { describe, expect, it } from 'vitest'
import { type ContextOptions, createContext, type H2oWarning } from '../../../src/ts/index.js'
import { checkContextOptions } from '../../../src/ts/options.js'
import { collect, someTokens, tinyContext, tinyModel } from '../support.js'

const model = await tinyModel()
const invalid = { code: 'ERR_H2O_INVALID_ARGUMENT' }
const text = someTokens(800)
const options = { temperature: 0, ignoreEos: true, nPredict: 6 }

describe('options', () => {
  it.each<[Partial<ContextOptions>]>([
    [{ h2o: { decode: -1 } }],
    [{ h2o: { decode: 1.5 } }],
    [{ h2o: { decode: 2 ** 30 + 1 } }],
    [{ h2o: { decode: Number.NaN } }],
    [{ h2o: { decode: 'all' as 'auto' } }],
    [{ h2o: { decode: null as never } }],
    [{ h2o: { decode: 8, local: 0, heavy: 0 } }],
    [{ h2o: { decode: 'auto' }, upstreamProducts: true }],
  ])('%j is refused', (given) => {
    expect(() => checkContextOptions({ model, ...given })).toThrow(expect.objectContaining(invalid))
  })

  it('are told, and cost an index', async () => {
    await using plain = await tinyContext()
    await using some = await tinyContext({ h2o: { decode: 12 } })
    await using auto = await tinyContext({ h2o: { decode: 'auto' } })
    expect(plain.h2o).toMatchObject({ decode: 0, decodeReason: 'off' })
    expect(some.h2o).toMatchObject({ decode: 12, decodeReason: null })
    expect(auto.h2o).toMatchObject({ decode: 'auto', decodeReason: null })
    expect(some.memory.h2oIndexBytes).toBeGreaterThan(plain.memory.h2oIndexBytes)
  })

  it('that the context cannot serve are warned of', async () => {
    const warnings: H2oWarning[] = []
    const onWarning = (warning: H2oWarning) => warnings.push(warning)
    await using context = await createContext({
      model,
      nCtx: 512,
      nThreads: 1,
      embeddings: true,
      h2o: { decode: 8 },
      onWarning,
    })
    expect(context.h2o).toMatchObject({ decode: 0, decodeReason: 'unsupported-context' })
    expect(warnings).toMatchObject([{ code: 'H2O_WARN_DECODE_DENSE' }])
    await expect(context.decode(1, { decode: 8 })).rejects.toMatchObject(invalid)
    expect((await context.decode(1)).call).toMatchObject({ decode: 0, decodeReason: 'unsupported-context' })
  })
})

describe('calls', () => {
  it('choose keys behind enough positions, and say why not otherwise', async () => {
    await using context = await tinyContext({ h2o: { decode: 12 } })
    await context.prefill(text.slice(0, 300))
    expect((await context.decode(1)).call).toMatchObject({
      decode: 0,
      decodeReason: 'few-positions',
      exact: true,
    })
    await context.prefill(text)
    expect((await context.decode(1)).call).toMatchObject({ decode: 12, decodeReason: null, exact: false })
    expect((await context.decode(1, { decode: 20 })).call).toMatchObject({ decode: 20 })
    expect((await context.decode(1, { decode: 0 })).call).toMatchObject({ decode: 0, decodeReason: 'off' })
    expect((await context.decode(text.slice(0, 9))).call).toMatchObject({
      decode: 0,
      decodeReason: 'many-tokens',
    })
    await expect(context.decode(1, { decode: -1 })).rejects.toMatchObject(invalid)
  })

  it('of a prompt read all of it', async () => {
    await using context = await tinyContext({ h2o: { decode: 12 } })
    await context.prefill(text)
    const { calls } = await context.prefill(text.slice(0, 3), { append: true })
    expect(calls).toMatchObject([{ n: 3, decode: 0, exact: true }])
  })
})

describe('answers', () => {
  it('say how they were decoded, each as it asks', async () => {
    await using context = await tinyContext({ h2o: { decode: 12 } })
    const document = await context.read(text)
    const ask = async (decode?: number | 'auto') => {
      const given = decode === undefined ? options : { ...options, decode }
      const { summary } = await collect(document.ask(someTokens(20, 2), given))
      const { predictedExact, predictedSparse, predictedDenseReason } = summary.timings
      return [predictedExact, predictedSparse, predictedDenseReason]
    }
    expect(await ask()).toEqual([false, 5, null])
    expect(await ask(0)).toEqual([true, 0, 'off'])
    expect(await ask(20)).toEqual([false, 5, null])
    expect(await ask('auto')).toEqual([true, 0, 'few-positions'])
    await expect(ask(-1)).rejects.toMatchObject(invalid)
  })

  it('are refused where there is no index, but for 0', async () => {
    await using context = await tinyContext()
    for (const decode of [8, 'auto'] as const) {
      await expect(context.generate(text, { ...options, decode }).next()).rejects.toMatchObject(invalid)
    }
    const { summary } = await collect(context.generate(text, { ...options, decode: 0 }))
    expect(summary.timings).toMatchObject({ predictedSparse: 0, predictedDenseReason: 'off' })
  })

  it('are the same after what was asked between them', async () => {
    await using context = await tinyContext({ h2o: { decode: 12 } })
    const document = await context.read(text)
    const ask = async (seed: number) => (await collect(document.ask(someTokens(70, seed), options))).tokens
    const first = await ask(2)
    await ask(3)
    expect(await ask(2)).toEqual(first)
  })
})
