/** Questions to one document at once, over one copy of its keys and values. */

import { writeFile } from 'node:fs/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  type AskOptions,
  type Context,
  type ContextOptions,
  type Document,
  loadModel,
} from '../../../src/ts/index.js'
import type { NativeCall } from '../../../src/ts/native/surface.js'
import { handleOf } from '../../../src/ts/sequence.js'
import { fuzzModel, mutated } from '../../fuzz/gguf-file.mjs'
import { memoryWays, policyWays, scratch, someTokens, tinyContext, tinyModel, type Way } from '../support.js'

const text = someTokens(500)
const questions = [2, 3, 4, 5].map((seed) => someTokens(11 * seed, seed))
// with its tokens given, an answer is the same however sums are rounded; the model's own probabilities tell what it saw
const options = {
  grammar: 'root ::= "an answer of" "a"*',
  temperature: 0,
  ignoreEos: true,
  nPredict: 12,
  logprobs: 0,
  repeatPenalty: 1.1,
  repeatLastN: 1024,
}

afterEach(() => {
  vi.restoreAllMocks()
})

const pool = (options: Partial<ContextOptions> = {}) =>
  tinyContext({ parallel: 4, kvUnified: true, ...options })

/** Tokens and what the model gave them. */
async function answer(document: Document, question: Int32Array, given: AskOptions = options) {
  const tokens: number[] = []
  const logprobs: number[] = []
  const asked = document.ask(question, given)
  for (;;) {
    const { done, value } = await asked.next()
    if (done) return { tokens, logprobs, stop: value.stop, prefill: value.prefill }
    tokens.push(value.token)
    logprobs.push(value.logprob as number)
  }
}

type Answer = Awaited<ReturnType<typeof answer>>

/** The same tokens, and the same probabilities but for rounding. */
function expectSame(got: Answer, expected: Answer | undefined) {
  expect(got.tokens).toEqual(expected?.tokens)
  const off = got.logprobs.map((value, at) => Math.abs(value - (expected?.logprobs[at] as number)))
  expect(Math.max(...off)).toBeLessThan(2e-2)
}

/** What a context that does nothing else answers. */
async function alone(options: Partial<ContextOptions>, question: Int32Array) {
  await using context = await tinyContext(options)
  return await answer(await context.read(text), question)
}

const ways: Way[] = [
  ...memoryWays,
  ['windows, whole', async () => ({ model: await tinyModel({ arch: 'gemma3', layers: 6 }), swaFull: true })],
  ['hybrid, dense', async () => ({ model: await tinyModel({ arch: 'lfm2', layers: 6 }), h2o: false })],
]

function answersAsAlone(...[name, way]: Way) {
  it('answers are those of a context of its own, and at once the same but for rounding', async () => {
    const given = await way()
    await using context = await pool(given)
    const document = await context.read(text)
    const expected: Answer[] = []
    for (const question of questions) expected.push(await alone(given, question))
    for (const [i, question] of questions.entries()) {
      const got = await answer(document, question)
      // cells of a window lie in another order, and sums follow it
      if (name !== 'windows') expect(got.logprobs).toEqual(expected[i]?.logprobs)
      expectSame(got, expected[i])
      expect(got.prefill).toMatchObject({ cached: 500, position: 500 + question.length, path: 'dense' })
    }
    for (let round = 0; round < 3; round++) {
      const together = await Promise.all(questions.map((question) => answer(document, question)))
      for (const [i, got] of together.entries()) expectSame(got, expected[i])
    }
    expect(context.position).toBe(500)
    // nothing is left of those who asked
    const rest = await context.prefill(someTokens(context.nCtx - 500, 9), { append: true, denseTail: 0 })
    expect(rest.path).toBe(given.h2o === false ? 'dense' : 'h2o')
  })
}
describe.each(ways)('%s', answersAsAlone)
describe.each(policyWays)('%s', { tags: ['ways'] }, answersAsAlone)

describe('questions at once', () => {
  it('wait for a sequence where there are more than those', async () => {
    await using context = await pool({ parallel: 3 })
    const document = await context.read(text)
    const [first] = questions as [Int32Array]
    const expected = await answer(document, first)
    const many = await Promise.all(Array.from({ length: 12 }, () => answer(document, first)))
    for (const got of many) expectSame(got, expected)
  })

  it('run between what was called before and after them', async () => {
    await using context = await pool()
    const document = await context.read(text)
    const [a, b, c] = questions as [Int32Array, Int32Array, Int32Array]
    const expected = [await answer(document, a), await answer(document, b)]
    const early = [answer(document, a), answer(document, b)]
    const read = context.read(someTokens(300, 8))
    const late = answer(document, c)
    const stale = expect(late).rejects.toMatchObject({ code: 'ERR_H2O_POSITION_STALE' })
    for (const [i, got] of (await Promise.all(early)).entries()) expectSame(got, expected[i])
    const other = await read
    expect(other.read).toMatchObject({ path: 'h2o', position: 300 })
    await stale
    expect((await answer(other, c)).prefill.cached).toBe(300)
  })

  it('end alone: by an abort, by leaving, by a failure', async () => {
    await using context = await pool()
    const document = await context.read(text)
    const [a, b] = questions as [Int32Array, Int32Array]
    const expected = await answer(document, b)
    const { native } = context[handleOf]().shared
    const decode = native.decode.bind(native)
    let calls = 0
    vi.spyOn(native, 'decode').mockImplementation((sequence, tokens, ...rest): Promise<NativeCall> => {
      if (tokens[0] === 7) return Promise.reject(new Error('broken'))
      calls++
      return decode(sequence, tokens, ...rest)
    })
    for (const when of [0, 1, 4]) {
      const stop = new AbortController()
      const aborted = expect(
        answer(document, a, { ...options, nPredict: -1, signal: stop.signal }),
      ).rejects.toThrow('enough')
      const broken = expect(answer(document, Int32Array.of(7, 8))).rejects.toThrow('broken')
      const left = document.ask(a, options)
      const goesOn = answer(document, b)
      const waits = answer(document, b)
      await left.next()
      const begun = calls
      await vi.waitUntil(() => calls >= begun + when, { interval: 1 })
      stop.abort(new Error('enough'))
      await left.return(undefined as never)
      await Promise.all([aborted, broken])
      expectSame(await goesOn, expected)
      expectSame(await waits, expected)
    }
    expect((await answer(document, b)).logprobs).toEqual(expected.logprobs)
  })

  it('have their tokens in one call, where one that fails does so alone', async () => {
    await using context = await pool()
    const document = await context.read(text)
    const [a, b, c] = questions as [Int32Array, Int32Array, Int32Array]
    const expected = [await answer(document, a), await answer(document, b)]
    const { native } = context[handleOf]().shared
    const step = native.step.bind(native)
    const rows: number[] = []
    let isBroken = false
    vi.spyOn(native, 'step').mockImplementation(async (sequences, tokens) => {
      rows.push(sequences.length)
      if (isBroken) throw new Error('broken')
      return step(sequences, tokens)
    })
    const grammar = 'root ::= "a" root'
    const biases = {
      logitBias: Object.fromEntries([...'a'].map((one) => [one.charCodeAt(0), false as const])),
    }
    const failed = answer(document, c, { ...options, grammar, ...biases }).catch((error) => error.code)
    const got = await Promise.all([answer(document, a), answer(document, b)])
    for (const [i, one] of got.entries()) expectSame(one, expected[i])
    expect(Math.max(...rows)).toBeGreaterThan(1)
    expect(await failed).toMatch(/ERR_H2O_SAMPLING|ERR_H2O_INVALID_ARGUMENT/)
    isBroken = true
    const all = await Promise.allSettled([a, b, c].map((question) => answer(document, question)))
    expect(all.map(({ status }) => status)).toContain('rejected')
    isBroken = false
    expect((await answer(document, b)).logprobs).toEqual(expected[1]?.logprobs)
  })

  it('end alone where the model knows no positions this far', async () => {
    const positions = 128
    const file = fuzzModel({
      spec: { arch: 'mpt', hidden: 64, heads: 4, ffn: 64, layers: 1, context: positions },
    })
    const zeros = Buffer.alloc(64 * positions * 4)
    file.tensors.push({
      name: 'position_embd.weight',
      ne: [64, positions],
      type: 0,
      offset: file.data.length,
    })
    file.data = Buffer.concat([file.data, zeros])
    await writeFile(scratch('positions.gguf'), mutated(file, []))
    await using model = await loadModel(scratch('positions.gguf'))
    await using context = await pool({ model, nCtx: 512 })
    const document = await context.read(someTokens(64))
    const [short, long] = await Promise.allSettled(
      [5, 60].map((n) => answer(document, someTokens(n, n), { ...options, nPredict: 14 })),
    )
    expect(short).toMatchObject({ status: 'fulfilled' })
    const details = { nPositions: positions, position: positions }
    expect(long).toMatchObject({ reason: { code: 'ERR_H2O_PROMPT_TOO_LONG', details } })
  })

  it('end with their context', async () => {
    const context = await pool()
    const document = await context.read(text)
    const [a, b] = questions as [Int32Array, Int32Array]
    const left = document.ask(a, options)
    await left.next()
    const disposed = { code: 'ERR_H2O_DISPOSED', message: expect.stringMatching(/context/) }
    const running = [a, b, a, b].map((question) =>
      expect(answer(document, question)).rejects.toMatchObject(disposed),
    )
    await new Promise(setImmediate)
    await Promise.all([context.dispose(), ...running])
    await left.return(undefined as never)
    await expect(answer(document, a)).rejects.toMatchObject(disposed)
  })

  it('have equal shares of what the text leaves, whoever else asks', async () => {
    await using context = await pool()
    const document = await context.read(text)
    const room = Math.floor((context.nCtx - 500) / 3)
    const endless = { ...options, nPredict: -1 }
    const [a] = questions as [Int32Array]
    const whole = await answer(document, a, endless)
    expect(whole.stop).toBe('context')
    expect(whole.tokens).toHaveLength(room - a.length + 1)
    const together = await Promise.all([a, a, a].map((question) => answer(document, question, endless)))
    for (const { tokens, stop } of together)
      expect({ stop, n: tokens.length }).toEqual({ stop: 'context', n: whole.tokens.length })
    await expect(answer(document, someTokens(room + 1))).rejects.toMatchObject({
      code: 'ERR_H2O_PROMPT_TOO_LONG',
      details: { nPrompt: room + 1, nCtx: 500 + room, position: 500 },
    })
    // longer than a chunk, and dense all the same
    const long = await answer(document, someTokens(room - 12, 6))
    expect(long.prefill.calls.map(({ path, reason }) => [path, reason])).toEqual([
      ['dense', 'one-chunk'],
      ['dense', 'one-chunk'],
      ['dense', 'one-chunk'],
    ])
  })

  it('refuse what would wait for ever, and options that say where they go', async () => {
    await using context = await pool()
    const document = await context.read(text)
    const [a, b] = questions as [Int32Array, Int32Array]
    for await (const _ of document.ask(a, options)) {
      await expect(answer(document, b)).rejects.toMatchObject({ code: 'ERR_H2O_INSIDE_GENERATE' })
      break
    }
    const refused = { code: 'ERR_H2O_INVALID_ARGUMENT' }
    await expect(answer(document, a, { append: true } as object)).rejects.toMatchObject(refused)
    await expect(answer(document, a, { decode: 64 })).rejects.toMatchObject(refused)
  })

  it('see the text alone where the context went on behind it', async () => {
    await using context = await pool()
    const document = await context.read(text)
    const [a] = questions as [Int32Array]
    const expected = await answer(document, a)
    await context.prefill(someTokens(40, 3), { append: true })
    expectSame(await answer(document, a), expected)
    await using hybrid = await pool({ model: await tinyModel({ arch: 'lfm2', layers: 6 }) })
    const gone = await hybrid.read(text)
    await hybrid.prefill(someTokens(40, 3), { append: true })
    await expect(answer(gone, a)).rejects.toMatchObject({ code: 'ERR_H2O_POSITION_GONE' })
  })
})

describe('a document', () => {
  it.each([
    ['llama', 2],
    ['gemma3', 6],
    ['lfm2', 6],
  ] as const)('of %s goes as bytes to other contexts', async (arch, layers) => {
    const given = { model: await tinyModel({ arch, layers }) }
    const [a] = questions as [Int32Array]
    const expected = await alone(given, a)
    await using many = await pool(given)
    await using one = await tinyContext(given)
    const single = await one.read(text)
    const loaded = await many.loadDocument(await single.save())
    for (const got of await Promise.all([a, a].map((a) => answer(loaded, a)))) expectSame(got, expected)
    const bytes = await (await many.read(text)).save()
    if (arch === 'gemma3') {
      // more cells for windows than one sequence has
      await expect(one.loadDocument(bytes)).rejects.toMatchObject({ code: 'ERR_H2O_STATE_INVALID' })
    } else {
      expectSame(await answer(await one.loadDocument(bytes), a), expected)
    }
    await using other = await pool(given)
    const again = await other.loadDocument(bytes)
    for (const got of await Promise.all([a, a].map((a) => answer(again, a)))) expectSame(got, expected)
  })
})

describe('a context whose sequences share their cells', () => {
  it('has them for questions alone', async () => {
    await using context: Context = await pool()
    const details = { parallel: 4 }
    expect(() => context.sequence()).toThrow(
      expect.objectContaining({ code: 'ERR_H2O_NO_SEQUENCE', details }),
    )
  })

  it('holds nCtx tokens together', async () => {
    await using context = await pool()
    await using one = await tinyContext()
    expect(context.nCtx).toBe(one.nCtx)
    expect(context.memory.kvBytes).toBe(one.memory.kvBytes)
  })

  it('is refused where there is nobody to share with, with sparse decoding, and with windows without H2O', async () => {
    const refused = (options: Partial<ContextOptions>) =>
      expect(pool(options)).rejects.toMatchObject({
        code: 'ERR_H2O_INVALID_ARGUMENT',
        message: expect.stringMatching(/kvUnified/),
      })
    await refused({ parallel: 1 })
    await refused({ h2o: { decode: 512 } })
    const model = await tinyModel({ arch: 'gemma3', layers: 6 })
    await refused({ model, h2o: false })
    await using context = await pool({ model, h2o: false, swaFull: true })
    const document = await context.read(text)
    await Promise.all(questions.map((question) => answer(document, question)))
  })
})
