/** A text that is read once and asked about. */

import { describe, expect, it } from 'vitest'
import { Document } from '../../../src/ts/index.js'
import { collect, someTokens, tinyContext } from '../support.js'

const text = someTokens(500)
const questions = [2, 3, 4].map((seed) => someTokens(20 + seed, seed))
const options = { temperature: 0, ignoreEos: true, nPredict: 8 }

describe('a document', () => {
  it('answers questions that come at once as if each came alone', async () => {
    await using context = await tinyContext()
    const document = await context.read(text)
    expect(document).toBeInstanceOf(Document)
    expect(document.length).toBe(500)
    expect(document.read).toMatchObject({ path: 'h2o', tokens: 500 })
    const alone = []
    for (const question of questions) {
      await context.prefill(text, { reuse: false, denseTail: 0 })
      alone.push((await collect(context.generate(question, { ...options, append: true }))).tokens)
    }
    const again = await context.read(text)
    const asked = await Promise.all(questions.map((question) => collect(again.ask(question, options))))
    expect(asked.map(({ tokens }) => tokens)).toEqual(alone)
    for (const { summary } of asked) expect(summary.prefill).toMatchObject({ cached: 500, path: 'dense' })
  })

  it('refuses options of places, and unknown ones', async () => {
    await using context = await tinyContext()
    const document = await context.read(text)
    for (const given of [{ from: 5 }, { append: true }, { reuse: false }, { npredict: 3 }, null]) {
      const answer = document.ask('why?', given as object)
      await expect(answer.next()).rejects.toMatchObject({
        code: 'ERR_H2O_INVALID_ARGUMENT',
        message: expect.stringMatching(/^ask /),
      })
    }
    expect(document.length).toBe(500)
  })

  it('goes through bytes into another context, without what was asked', async () => {
    await using context = await tinyContext()
    const document = await context.read(text)
    const { tokens } = await collect(document.ask(questions[0] as Int32Array, options))
    const bytes = await document.save()
    await using other = await tinyContext()
    const loaded = await other.loadDocument(bytes)
    expect(loaded.length).toBe(500)
    expect((await collect(loaded.ask(questions[0] as Int32Array, options))).tokens).toEqual(tokens)
  })

  it('is stale when something else took its place, and is there again when it is read again', async () => {
    await using context = await tinyContext()
    const document = await context.read(text)
    await context.prefill(questions[0] as Int32Array)
    const stale = { code: 'ERR_H2O_POSITION_STALE' }
    await expect(document.ask(questions[1] as Int32Array).next()).rejects.toMatchObject(stale)
    await expect(document.save()).rejects.toMatchObject(stale)
    const again = await context.read(text)
    expect((await collect(again.ask(questions[1] as Int32Array, options))).tokens).toHaveLength(8)
  })

  it('tells of progress and ends early as a prefill does', async () => {
    await using context = await tinyContext()
    const controller = new AbortController()
    const onProgress = () => controller.abort(new Error('enough'))
    await expect(context.read(text, { signal: controller.signal, onProgress })).rejects.toThrow('enough')
    expect(context.position).toBeLessThan(500)
  })

  it('takes no option that says where the question goes', async () => {
    await using context = await tinyContext()
    const refused = { code: 'ERR_H2O_INVALID_ARGUMENT' }
    await expect(context.read(text, { append: true } as object)).rejects.toMatchObject(refused)
    const document = await context.read(text)
    const ask = (given: object) => document.ask(questions[0] as Int32Array, given).next()
    await expect(ask({ append: true })).rejects.toMatchObject(refused)
  })
})
