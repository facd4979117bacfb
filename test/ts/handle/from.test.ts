/** One document, many questions: going back to a position and asking, as one request. */

import { describe, expect, it } from 'vitest'
import type { Context } from '../../../src/ts/index.js'
import { collect, someTokens, tinyContext } from '../support.js'

const document = someTokens(300)
const questions = [2, 3, 4].map((seed) => someTokens(20 + seed, seed))
const options = { temperature: 0, ignoreEos: true, nPredict: 8 }

describe.each([
  ['with H2O', { local: 16, heavy: 16 }],
  ['without H2O', false],
] as const)('from %s', (_, h2o) => {
  it('lets every one of several questions see the document and nothing else', async () => {
    await using context = await tinyContext({ h2o })
    const { position: end } = await context.prefill(document)
    expect(end).toBe(300)
    const alone = []
    for (const question of questions) {
      await context.truncate(end)
      alone.push((await collect(context.generate(question, { ...options, append: true }))).tokens)
    }
    const ask = (question: Int32Array) => collect(context.generate(question, { ...options, from: end }))
    const together = await Promise.all([...questions, ...questions].map(ask))
    expect(together.map(({ tokens }) => tokens)).toEqual([...alone, ...alone])
    for (const { summary } of together) expect(summary.prefill.cached).toBe(end)
  })

  it('is what truncate and append are', async () => {
    await using context = await tinyContext({ h2o })
    await context.prefill(document)
    for (const from of [300, 257, 192, 100, 0]) {
      await context.prefill(document)
      await context.truncate(from)
      const expected = await context.prefill(questions[0] as Int32Array, { append: true })
      await context.prefill(document)
      const result = await context.prefill(questions[0] as Int32Array, { from })
      expect(result).toMatchObject({ cached: from, position: from + 22, calls: expected.calls })
      expect(result.logits).toEqual(expected.logits)
      expect(context.position).toBe(from + 22)
    }
  })
})

describe('a place', () => {
  const stale = { code: 'ERR_H2O_POSITION_STALE' }
  const question = questions[0] as Int32Array

  it('is where a prefill ended, whatever was read behind it', async () => {
    await using context = await tinyContext()
    const place = await context.prefill(document)
    const first = await context.prefill(question, { from: place })
    await collect(context.generate(question, { ...options, append: true }))
    const again = await context.prefill(question, { from: place })
    expect(again).toMatchObject({ cached: 300, position: 322 })
    expect(again.logits).toEqual(first.logits)
    await context.truncate(300)
    const { summary } = await collect(context.generate(question, { ...options, from: place }))
    const behind = await context.prefill(question, { from: summary.prefill })
    expect(behind.cached).toBe(322)
  })

  it.each<[string, number, (context: Context) => Promise<unknown>]>([
    ['another prompt of the same length', 0, (c) => c.prefill(someTokens(300, 9))],
    ['a prompt from within', 200, (c) => c.prefill(someTokens(100, 9), { from: 200 })],
    ['a truncation, then more', 299, (c) => c.truncate(299).then(() => c.decode([1, 2, 3]))],
    ['a hole', 100, (c) => c.removeRange(100, 110)],
    ['a clear', 0, (c) => c.clear()],
    ['a state', 0, async (c) => c.loadState(await c.saveState())],
  ])('is stale after %s', async (_, forgotten, change) => {
    await using context = await tinyContext()
    const start = await context.prefill(document.subarray(0, 100))
    const place = await context.prefill(document.subarray(100), { append: true })
    await change(context)
    const { position } = context
    const refused = { ...stale, details: { from: 300, forgotten } }
    await expect(context.prefill(question, { from: place })).rejects.toMatchObject(refused)
    await expect(collect(context.generate(question, { from: place }))).rejects.toMatchObject(refused)
    expect(context.position).toBe(position)
    const earlier = context.prefill(question, { from: start })
    if (forgotten < 100) await expect(earlier).rejects.toMatchObject(stale)
    else expect((await earlier).cached).toBe(100)
  })

  it('is looked at when its turn comes', async () => {
    await using context = await tinyContext()
    const place = await context.prefill(document)
    const other = context.prefill(someTokens(300, 9))
    const asked = context.prefill(question, { from: place })
    await other
    await expect(asked).rejects.toMatchObject(stale)
  })

  it('is a loaded state too', async () => {
    await using context = await tinyContext()
    await context.prefill(document)
    const place = await context.loadState(await context.saveState())
    expect((await context.prefill(question, { from: place })).cached).toBe(300)
  })

  it('belongs to one context', async () => {
    await using context = await tinyContext()
    await using other = await tinyContext()
    const place = await context.prefill(document)
    await other.prefill(document)
    const unknown = { code: 'ERR_H2O_INVALID_ARGUMENT' }
    await expect(other.prefill(question, { from: place })).rejects.toMatchObject(unknown)
    await expect(context.prefill(question, { from: { ...place } })).rejects.toMatchObject(unknown)
  })
})

describe('a position beyond the end', () => {
  const beyond = { code: 'ERR_H2O_POSITION_OUT_OF_RANGE' }

  it('is refused, and nothing is touched', async () => {
    await using context = await tinyContext()
    await context.prefill(someTokens(100))
    await expect(context.prefill('abc', { from: 101 })).rejects.toMatchObject({
      ...beyond,
      details: { from: 101, position: 100 },
    })
    await expect(collect(context.generate('abc', { from: 101 }))).rejects.toMatchObject(beyond)
    await expect(context.truncate(101)).rejects.toMatchObject(beyond)
    await expect(context.removeRange(0, 101)).rejects.toMatchObject(beyond)
    expect(context.position).toBe(100)
    await context.truncate(100)
    expect((await context.prefill('abc', { from: 100 })).cached).toBe(100)
  })

  it('is what a document is that another prompt took the place of', async () => {
    await using context = await tinyContext()
    const { position: end } = await context.prefill(document)
    const abort = new AbortController()
    const other = context.prefill(someTokens(900, 9), {
      signal: abort.signal,
      onProgress: ({ call }) => call && abort.abort('left'),
    })
    const question = collect(context.generate('what?', { from: end, nPredict: 1 }))
    await expect(other).rejects.toBe('left')
    await expect(question).rejects.toMatchObject(beyond)
  })

  it('is told from a prompt that does not fit', async () => {
    await using context = await tinyContext({ nCtx: 512 })
    await context.prefill(document)
    await expect(context.prefill(document, { from: 300 })).rejects.toMatchObject({
      code: 'ERR_H2O_PROMPT_TOO_LONG',
      details: { nPrompt: 300, nCtx: 512, position: 300 },
    })
    expect(context.position).toBe(300)
    expect(await context.prefill(document, { from: 212 })).toMatchObject({ cached: 212, position: 512 })
  })
})
