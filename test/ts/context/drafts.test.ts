/** Answers that are drafted from what stands before them are those that are not, wherever they end. */

import { describe, expect, it } from 'vitest'
import type { Context, ContextOptions, GenerateOptions } from '../../../src/ts/index.js'
import { collect, someTokens, tinyContext, tinyModel } from '../support.js'

const invalid = { code: 'ERR_H2O_INVALID_ARGUMENT' }
const specType = 'ngram-simple'

/** Letters that stand once in the prompt, so that what follows six of them is known. */
const text = String.fromCharCode(...someTokens(160, 3).map((id) => 97 + (id % 26)))
const prompt = `${text} Again: `
const says = (...parts: string[]) => parts.map((part) => JSON.stringify(part)).join(' ')
const quoting: GenerateOptions = { grammar: `root ::= ${says(text)}`, seed: 1, ignoreEos: true }

/** Of a context: what it goes on with. */
async function next(context: Context) {
  return (await collect(context.generate([65], { append: true, temperature: 0, nPredict: 4 }))).tokens
}

const both = async (context: Context, options: GenerateOptions, before: string | Int32Array = prompt) => {
  const plain = await collect(context.generate(before, options))
  const position = context.position
  const drafted = await collect(context.generate(before, { ...options, specType }))
  expect(drafted.tokens).toEqual(plain.tokens)
  expect(drafted.texts).toEqual(plain.texts)
  expect(drafted.summary).toMatchObject({ predicted: plain.summary.predicted, stop: plain.summary.stop })
  expect(context.position).toBe(position)
  expect(plain.summary.timings).toMatchObject({ draftN: 0, draftNAccepted: 0 })
  return { plain, drafted, timings: drafted.summary.timings }
}

describe('a drafted answer', () => {
  it('quotes in calls of 16, 32 and 64 tokens', async () => {
    await using context = await tinyContext()
    const { timings } = await both(context, quoting)
    expect(timings).toMatchObject({ draftN: 15 + 31 + 63 + 63, predictedN: 160, predictedExact: true })
    expect(timings.draftNAccepted).toBeGreaterThan(145) // all but the first, one a call, and what the last has too much
  })

  it('leaves the draft where the answer does, and goes back to short ones', async () => {
    await using context = await tinyContext()
    const changed = `${text.slice(0, 40)}!!${text.slice(40, 70)}??${text.slice(70)}`
    const { timings } = await both(context, { ...quoting, grammar: `root ::= ${says(changed)}` })
    expect(timings.draftNAccepted).toBeGreaterThan(60)
    expect(timings.draftNAccepted).toBeLessThan(timings.draftN)
  })

  it('stops drafting where drafts are refused', async () => {
    await using context = await tinyContext()
    const words = Array.from({ length: 25 }, (_, i) => `${text.slice(5 * i + 1, 5 * i + 8)}!`)
    const { timings } = await both(context, { ...quoting, grammar: `root ::= ${says(words.join(''))}` })
    expect(timings.draftN).toBeGreaterThanOrEqual(30)
    expect(timings.draftN).toBeLessThanOrEqual(15 * 8)
    expect(timings.draftNAccepted).toBeLessThan(10)
  })

  it.each<[string, GenerateOptions]>([
    ['the end of its text', { ...quoting, ignoreEos: false }],
    ['a stop string in a draft', { ...quoting, stop: text.slice(30, 34) }],
    ['nPredict in a draft', { ...quoting, nPredict: 37 }],
    ['the end of the sentence, with logprobs', { ...quoting, logprobs: 2 }],
    ['penalties that look back', { ...quoting, repeatPenalty: 1.3, dryMultiplier: 1, repeatLastN: 200 }],
  ])('ends as another does: %s', async (_, options) => {
    await using context = await tinyContext()
    const { drafted, timings } = await both(context, options)
    expect(timings.draftNAccepted).toBeGreaterThan(0)
    const logprobs = drafted.summary.predicted > 0 && options.logprobs !== undefined
    if (logprobs) await likeThoseOfPlain(context, options)
  })

  async function likeThoseOfPlain(context: Context, options: GenerateOptions) {
    const of = async (given: GenerateOptions) => {
      const found: number[] = []
      for await (const { logprob } of context.generate(prompt, given)) found.push(logprob as number)
      return found
    }
    const plain = await of(options)
    const drafted = await of({ ...options, specType })
    for (const [i, logprob] of drafted.entries()) expect(logprob).toBeCloseTo(plain[i] as number, 3)
  }

  it('ends where the context is full', async () => {
    await using context = await tinyContext({ nCtx: 256 })
    const { plain } = await both(context, quoting)
    expect(plain.summary.stop).toBe('context')
  })

  it.each<[string, () => Promise<Partial<ContextOptions>>]>([
    ['one sequence', async () => ({})],
    ['H2O off', async () => ({ h2o: false })],
    [
      'quantised keys and values',
      async () => ({ model: await tinyModel({ hidden: 128 }), typeK: 'q8_0', typeV: 'q8_0' }),
    ],
    ['sequences', async () => ({ parallel: 3 })],
    ['windows', async () => ({ model: await tinyModel({ arch: 'gemma3', layers: 6 }) })],
    ['short calls', async () => ({ nUbatch: 16, nBatch: 48, h2o: false })],
  ])('is left and aborted as another is: %s', async (_, settings) => {
    await using context = await tinyContext(await settings())
    await both(context, quoting)
    for (const nTaken of [1, 6, 7, 8, 15, 22, 23, 40, 54, 55, 90, 150]) {
      const reason = new Error('enough')
      const left = async (options: GenerateOptions, isAborted: boolean) => {
        const controller = new AbortController()
        const answer = context.generate(prompt, { ...quoting, ...options, signal: controller.signal })
        for (let i = 0; i < nTaken; i++) await answer.next()
        if (isAborted) {
          controller.abort(reason)
          await expect(answer.next()).rejects.toBe(reason)
        } else await answer.return(undefined as never)
        return { position: context.position, next: await next(context) }
      }
      const isAborted = nTaken % 2 === 1
      const plain = await left({}, isAborted)
      expect(await left({ specType }, isAborted)).toEqual(plain)
    }
  })

  it('goes on behind a truncated, a loaded and an appended text', async () => {
    await using context = await tinyContext()
    await context.prefill(prompt)
    const state = await context.saveState()
    await context.truncate(100) // what is forgotten is not drafted
    const shorter = await collect(context.generate('Again:', { ...quoting, append: true, specType }))
    expect(shorter.summary.text).toBe(text)
    expect(shorter.summary.timings.draftNAccepted).toBeLessThan(94) // the last 60 of 160 are unknown
    await context.loadState(state)
    const loaded = await collect(context.generate('Again:', { ...quoting, append: true, specType }))
    expect(loaded.summary.text).toBe(text)
    const known = await collect(context.generate(prompt, { ...quoting, specType }))
    expect(known.summary.timings.draftNAccepted).toBeGreaterThan(145)
  })

  it('behind a document leaves it as it is', async () => {
    await using context = await tinyContext({ parallel: 3, kvUnified: true })
    const document = await context.read(prompt)
    const options = { ...quoting, nPredict: 120 }
    const [drafted, plain, again] = await Promise.all(
      [{ specType } as const, {}, { specType } as const].map((one) =>
        collect(document.ask('Again: ', { ...options, ...one })),
      ),
    )
    expect(drafted?.summary.text).toBe(plain?.summary.text)
    expect(again?.summary.text).toBe(plain?.summary.text)
    expect(drafted?.summary.timings.draftNAccepted).toBeGreaterThan(90)
    expect(context.position).toBe(prompt.length)
  })
})

describe('what cannot be drafted is refused', () => {
  const refusals: [string, GenerateOptions, () => Promise<Partial<ContextOptions>>][] = [
    ['an unknown name', { specType: 'ngram-mod' as 'none' }, async () => ({})],
    ['sparse decoding', { specType, decode: 12 }, async () => ({ h2o: { decode: 12 } })],
    ["sparse decoding, the context's", { specType }, async () => ({ h2o: { decode: 12 } })],
    ['votes', { specType }, async () => ({ h2o: { select: 'votes', local: 16, heavy: 16 } })],
    ['recurrent layers', { specType }, async () => ({ model: await tinyModel({ arch: 'lfm2', layers: 6 }) })],
  ]
  it.each(refusals)('%s', async (_, options, settings) => {
    await using context = await tinyContext(await settings())
    await expect(context.generate(prompt, options).next()).rejects.toMatchObject(invalid)
    expect(context.position).toBe(0)
  })
})
