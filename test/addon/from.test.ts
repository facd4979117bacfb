/** One document, many questions: going back to a position and asking, as one request. */

import { describe, expect, it } from 'vitest'
import { collect, someTokens, tinyContext } from './support.js'

const document = someTokens(300)
const questions = [2, 3, 4].map((seed) => someTokens(20 + seed, seed))
const options = { temperature: 0, ignoreEos: true, nPredict: 8 }

describe.each([
  ['with H2O', { local: 16, heavy: 16 }],
  ['with query', { local: 16, heavy: 16, select: 'query' }],
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
