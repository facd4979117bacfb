import { copyFile, mkdir, open, truncate, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { loadModel } from '../../../src/ts/index.js'
import { scratch, tinyContext, tinyModel } from '../support.js'

describe('a model', () => {
  it('describes itself', async () => {
    const path = await tinyModel()
    await using model = await loadModel(path)
    expect(model).toMatchObject({
      path,
      architecture: 'llama',
      nVocab: 258,
      nLayer: 2,
      nEmbd: 64,
      nCtxTrain: 32768,
      bosToken: 256,
      addBos: false,
    })
    expect(model.nParams).toBeGreaterThan(0)
    expect(model.sizeBytes).toBeGreaterThanOrEqual(model.nParams * 4)
    expect(model.description).toMatch(/^llama [\d.]+M all F32/)
  })

  it('tokenizes and back', async () => {
    await using model = await loadModel(await tinyModel({ addBos: true }))
    const text = 'Straße, 日本, 😀 \n\t"x"'
    const tokens = model.tokenize(text)
    expect(tokens).toBeInstanceOf(Int32Array)
    expect([...tokens]).toEqual([256, ...new TextEncoder().encode(text)])
    expect(model.tokenize(text, { addSpecial: false })).toHaveLength(tokens.length - 1)
    expect(model.detokenize(tokens, { removeSpecial: true })).toBe(text)
    expect(model.detokenize([])).toBe('')
    expect(model.tokenize('')).toEqual(Int32Array.of(256))
    expect(model.tokenize('<|endoftext|>', { addSpecial: false, parseSpecial: true })).toEqual(
      Int32Array.of(257),
    )
    expect(model.tokenize('<|endoftext|>', { addSpecial: false })).toHaveLength(13)
    expect(model.detokenize([257], { unparseSpecial: true })).toBe('<|endoftext|>')
    expect(model.detokenize([257])).toBe('')
    expect(model.isEog(257)).toBe(true)
    expect(model.isEog(65)).toBe(false)
  })

  it('tokenizes off the main thread', async () => {
    await using model = await loadModel(await tinyModel({ addBos: true }))
    for (const options of [{}, { addSpecial: false }, { parseSpecial: true }]) {
      const text = 'Straße <|endoftext|> 日本'
      expect(await model.tokenizeAsync(text, options)).toEqual(model.tokenize(text, options))
    }
    await expect(model.tokenizeAsync(5 as never)).rejects.toMatchObject({ code: 'ERR_H2O_INVALID_ARGUMENT' })
    await expect(model.tokenizeAsync('a', { signal: 1 } as never)).rejects.toMatchObject({
      code: 'ERR_H2O_INVALID_ARGUMENT',
    })
    const disposed = await loadModel(await tinyModel())
    await disposed.dispose()
    await expect(disposed.tokenizeAsync('a')).rejects.toMatchObject({ code: 'ERR_H2O_DISPOSED' })
  })

  it.each([
    ['words', 'some words of a text '],
    ['special tokens', '<|endoftext|> '],
  ])('ends tokenizing %s at an abort', async (_, piece) => {
    await using context = await tinyContext()
    const { model } = context
    const text = piece.repeat(2e7 / piece.length)
    const parts = 200 // no less than so many times what a part takes
    const begun = performance.now()
    await model.tokenizeAsync(text.slice(0, text.length / parts), { parseSpecial: true })
    const wholeMs = (performance.now() - begun) * parts
    for (const begin of [
      (signal: AbortSignal) => model.tokenizeAsync(text, { signal, parseSpecial: true }),
      (signal: AbortSignal) => context.prefill(text, { signal, parseSpecial: true }),
    ]) {
      const abort = new AbortController()
      const tokenizing = begin(abort.signal)
      setTimeout(() => abort.abort('enough'), 100)
      const start = performance.now()
      await expect(tokenizing).rejects.toBe('enough')
      expect(performance.now() - start).toBeLessThan(wholeMs / 2)
    }
    // the thread is free again
    expect((await context.prefill('abc')).tokens).toBe(3)
    await expect(model.tokenizeAsync('abc', { signal: AbortSignal.abort('early') })).rejects.toBe('early')
  })

  it('survives odd texts', async () => {
    await using model = await loadModel(await tinyModel())
    expect(model.tokenize('a\0b')).toEqual(Int32Array.of(97, 0, 98))
    expect(model.detokenize(model.tokenize('\ud800'))).toBe('\ufffd')
    expect(model.detokenize([0xf0, 0x9f])).toMatch(/^\ufffd+$/)
    const long = 'ab '.repeat(200_000)
    expect(model.tokenize(long)).toHaveLength(long.length)
  })

  it('reports progress and says when it is there', async () => {
    const fractions: number[] = []
    const path = await tinyModel()
    const model = await loadModel({ path, onProgress: (fraction) => fractions.push(fraction) })
    expect(fractions.at(-1)).toBe(1)
    await model.dispose()
  })

  it.each([
    ['at once', () => true],
    ['when it is there', (fraction: number) => fraction === 1],
  ])('rejects with what the listener throws %s', async (_, when) => {
    const path = await tinyModel({ layers: 4, hidden: 512 })
    const error = new Error('listener')
    const onProgress = (fraction: number) => {
      if (when(fraction)) throw error
    }
    await expect(loadModel({ path, loadMode: 'none', onProgress })).rejects.toBe(error)
  })

  it('loads without mmap', async () => {
    await using model = await loadModel({ path: await tinyModel(), loadMode: 'none', nGpuLayers: 0 })
    expect(model.nVocab).toBe(258)
  })

  it('rejects with the reason of an abort', async () => {
    const path = await tinyModel()
    await expect(loadModel({ path, signal: AbortSignal.abort('no') })).rejects.toBe('no')
    const abort = new AbortController()
    const loading = loadModel({ path, signal: abort.signal })
    abort.abort(new Error('changed my mind'))
    await expect(loading).rejects.toThrow('changed my mind')
  })

  it('is gone after dispose', async () => {
    const model = await loadModel(await tinyModel())
    expect(model.dispose()).toBe(model.dispose())
    await model.dispose()
    expect(model.disposed).toBe(true)
    for (const use of [() => model.tokenize('a'), () => model.detokenize([65]), () => model.isEog(65)]) {
      expect(use).toThrow(expect.objectContaining({ code: 'ERR_H2O_DISPOSED' }))
    }
    await expect(tinyContext({ model })).rejects.toMatchObject({ code: 'ERR_H2O_DISPOSED' })
  })

  it('checks its arguments', async () => {
    await using model = await loadModel(await tinyModel())
    expect(() => model.tokenize(5 as never)).toThrow(/text/)
    expect(() => model.tokenize('a', { addSpecial: 1 as never })).toThrow(/addSpecial/)
    for (const bad of [[258], [-1], [1.5], [Number.NaN], ['1']]) {
      expect(() => model.detokenize(bad as number[])).toThrow(
        expect.objectContaining({ code: 'ERR_H2O_TOKEN_OUT_OF_RANGE' }),
      )
    }
    expect(() => model.detokenize(null as never)).toThrow(/token ids/)
    expect(() => model.isEog(258)).toThrow(/vocabulary/)
  })
})

describe('what is no model', () => {
  const cases: Record<string, () => Promise<string>> = {
    'a missing file': async () => scratch('missing.gguf'),
    'a file below a file': async () => `${await tinyModel()}/x.gguf`,
    'a folder': async () => {
      const path = scratch('folder.gguf')
      await mkdir(path, { recursive: true })
      return path
    },
    'an empty file': () => written('empty.gguf', ''),
    'a text': () => written('text.gguf', 'This is a text and no model.\n'.repeat(100)),
    'nothing but the magic': () => written('magic.gguf', 'GGUF'),
    'the magic and rubbish': () =>
      written('rubbish.gguf', `GGUF${'\u0003\u0000\u0000\u0000'}${'x'.repeat(5000)}`),
    'a truncated head': async () => cut('head.gguf', 700),
    'a truncated body': async () => cut('body.gguf', -1000),
    'an unknown architecture': async () =>
      tinyModel({ metadata: { 'general.architecture': { type: 'string', value: 'nonesuch' } } }),
  }

  it.each(Object.keys(cases))('%s', async (name) => {
    const path = await (cases[name] as () => Promise<string>)()
    const code = /missing|below/.test(name) ? 'ERR_H2O_MODEL_NOT_FOUND' : 'ERR_H2O_MODEL_INVALID'
    await expect(loadModel(path)).rejects.toMatchObject({ name: 'H2oError', code, details: { path } })
    await expect(tinyContext({ model: path })).rejects.toMatchObject({ code })
  })

  it('says what llama.cpp said', async () => {
    const error = await loadModel(await cut('said.gguf', -1000)).catch((error) => error)
    expect(error.details.log).toMatch(/corrupted|incomplete|bounds/)
    expect(error.hint).toBeTruthy()
  })

  async function written(name: string, content: string): Promise<string> {
    await writeFile(scratch(name), content, 'latin1')
    return scratch(name)
  }

  /** A model cut off at `size`, counted from the end if negative. */
  async function cut(name: string, size: number): Promise<string> {
    const path = scratch(name)
    await copyFile(await tinyModel(), path)
    const file = await open(path)
    const { size: whole } = await file.stat()
    await file.close()
    await truncate(path, size < 0 ? whole + size : size)
    return path
  }
})
