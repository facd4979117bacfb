/** Sequences whose tokens are decoded in one call: each answers as if it were alone, but for rounding. */

import { writeFile } from 'node:fs/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  type Context,
  type ContextOptions,
  type GenerateOptions,
  loadModel,
  type Prompt,
  type Sequence,
} from '../../../src/ts/index.js'
import { handleOf } from '../../../src/ts/sequence.js'
import { fuzzModel, mutated } from '../../fuzz/gguf-file.mjs'
import { policyWays, scratch, someTokens, tinyContext, tinyModel, type Way } from '../support.js'

const S = 64
const nOps = Number(process.env.H2O_PARALLEL_OPERATIONS ?? 60)

// with its tokens given, an answer is the same however sums are rounded; the model's own probabilities tell what it saw
const letters = 'abcd'
const spelling = (i: number): GenerateOptions => ({
  grammar: `root ::= "${letters[i]}"+`,
  temperature: 0,
  ignoreEos: true,
  nPredict: 24,
  logprobs: 0,
})
/** No token is left of what the grammar has. */
const broken = (i: number): GenerateOptions => ({
  ...spelling(i),
  logitBias: { [letters.charCodeAt(i)]: false },
})

afterEach(() => {
  vi.restoreAllMocks()
})

async function opened(options: Partial<ContextOptions> = {}): Promise<[Context, Sequence[]]> {
  const context = await tinyContext({ parallel: 4, contBatching: true, ...options })
  return [context, [context, ...Array.from({ length: context.parallel - 1 }, () => context.sequence())]]
}

interface Answer {
  tokens: number[]
  logprobs: number[]
  stop?: string
}

/** @param take of it, before it is left */
async function answer(
  sequence: Sequence,
  prompt: Prompt,
  options: GenerateOptions,
  take = Number.POSITIVE_INFINITY,
): Promise<Answer> {
  const got: Answer = { tokens: [], logprobs: [] }
  const generation = sequence.generate(prompt, options)
  while (got.tokens.length < take) {
    const { done, value } = await generation.next()
    if (done) return { ...got, stop: value.stop }
    got.tokens.push(value.token)
    got.logprobs.push(value.logprob as number)
  }
  await generation.return(undefined as never)
  return got
}

/** The same tokens, and the same probabilities but for rounding. */
function expectSame(got: Answer, expected: Answer) {
  expect({ ...got, logprobs: got.logprobs.length }).toEqual({
    ...expected,
    logprobs: expected.logprobs.length,
  })
  const off = got.logprobs.map((value, at) => Math.abs(value - (expected.logprobs[at] as number)))
  expect(Math.max(0, ...off)).toBeLessThan(0.1)
}

/** Native calls as they are made: the sequences of each, and the tokens that each of them has in it. */
function logged(context: Context): { sequences: number[]; n: number }[] {
  const { native } = context[handleOf]().shared
  const log: { sequences: number[]; n: number }[] = []
  const { decode, step } = native
  vi.spyOn(native, 'decode').mockImplementation((sequence, tokens, ...rest) => {
    log.push({ sequences: [sequence], n: tokens.length })
    return decode.call(native, sequence, tokens, ...rest)
  })
  vi.spyOn(native, 'step').mockImplementation((sequences, tokens) => {
    log.push({ sequences: [...sequences], n: 1 })
    return step.call(native, sequences, tokens)
  })
  return log
}

const ways: Way[] = [
  ['query', async () => ({})],
  ['Q8_0', async () => ({ typeK: 'q8_0', typeV: 'q8_0', model: await tinyModel({ headDim: 32 }) })],
  ['dense', async () => ({ h2o: false })],
  ['no flash attention', async () => ({ flashAttn: 'off' })],
  ['windows', async () => ({ model: await tinyModel({ arch: 'gemma3', layers: 6 }) })],
  ['hybrid', async () => ({ model: await tinyModel({ arch: 'lfm2', layers: 6 }) })],
  ['hybrid, dense', async () => ({ model: await tinyModel({ arch: 'lfm2', layers: 6 }), h2o: false })],
]

function answersAsAlone(...[, way]: Way) {
  it('sequences answer as contexts of their own, and prompts behind answers have their bits', async () => {
    const options = await way()
    const [context, sequences] = await opened(options)
    const log = logged(context)
    const read = (sequence: Sequence, i: number) => sequence.prefill(someTokens(200 + 77 * i, i))
    // so long that they meet: grammars are not ready at once
    const ask = (sequence: Sequence, i: number) =>
      answer(sequence, someTokens(9, i), { ...spelling(i), nPredict: 120, append: true })
    const readOn = async (sequence: Sequence, i: number) =>
      (await sequence.prefill(someTokens(300, i + 20), { reuse: false })).logits
    await Promise.all(sequences.map(read))
    const together = await Promise.all(sequences.map(ask))
    expect(log.filter((call) => call.sequences.length > 2).length).toBeGreaterThan(4)
    const behind = await Promise.all(sequences.map(readOn))
    await context.dispose()
    for (const [i, got] of together.entries()) {
      await using alone = await tinyContext(options)
      await read(alone, i)
      expectSame(got, await ask(alone, i))
      expect(behind[i]).toEqual(await readOn(alone, i))
    }
  })
}
describe.each(ways)('%s', answersAsAlone)
describe.each(policyWays)('%s', { tags: ['ways'] }, answersAsAlone)

describe('tokens in one call', () => {
  // on a busy machine a draw may take longer than a chunk, and then they never wait at the same time
  it('are those of all who wait, between two chunks of a prompt', { retry: 2 }, async () => {
    const [context, [reader, a, b, c]] = (await opened()) as [
      Context,
      [Sequence, Sequence, Sequence, Sequence],
    ]
    const chats = [a, b, c]
    for (const chat of chats) await chat.prefill(someTokens(20, 5))
    const log = logged(context)
    const reading = reader.prefill(someTokens(12 * S + 5))
    const answers = chats.map((chat, i) => answer(chat, someTokens(3), { ...spelling(i), append: true }))
    await Promise.all([reading, ...answers])
    for (const chat of [1, 2, 3]) {
      const steps = log.flatMap(({ sequences, n }, at) => (n === 1 && sequences.includes(chat) ? [at] : []))
      expect(steps).toHaveLength(23) // the first token is drawn with the question
      for (const [i, at] of steps.slice(1).entries()) {
        const between = log.slice((steps[i] as number) + 1, at).filter(({ n }) => n > 1)
        expect(between.length).toBeLessThanOrEqual(1)
      }
    }
    expect(Math.max(...log.map(({ n }) => n))).toBeLessThanOrEqual(S)
    expect(log.filter(({ sequences }) => sequences.length === 3).length).toBeGreaterThan(5)
    await context.dispose()
  })

  it('wait for nobody who takes none', async () => {
    const [context, [slow, quick]] = (await opened()) as [Context, [Sequence, Sequence]]
    const left = slow.generate(someTokens(20), spelling(0))
    await left.next()
    expect((await answer(quick, someTokens(30), spelling(1))).tokens).toHaveLength(24)
    await left.return(undefined as never)
    await context.dispose()
  })

  it('are none of those that decode sparsely', async () => {
    const options = { h2o: { local: 16, heavy: 16, decode: 32 } }
    const [context, sequences] = await opened(options)
    const log = logged(context)
    const prompt = (i: number) => someTokens(400, i)
    const together = await Promise.all(
      sequences.map((sequence, i) => answer(sequence, prompt(i), { ...spelling(i), decode: i < 2 ? 32 : 0 })),
    )
    for (const { sequences } of log.filter((call) => call.sequences.length > 1))
      expect(sequences).toEqual([2, 3])
    await context.dispose()
    for (const [i, got] of together.entries()) {
      await using alone = await tinyContext(options)
      const expected = await answer(alone, prompt(i), { ...spelling(i), decode: i < 2 ? 32 : 0 })
      if (i < 2) expect(got).toEqual(expected)
      else expectSame(got, expected)
    }
  })

  it('have the bits of any other where one sequence answers', async () => {
    for (const parallel of [1, 3]) {
      await using alone = await tinyContext()
      await using context = await tinyContext({ parallel, contBatching: true })
      expect(await answer(context, someTokens(300), spelling(0))).toEqual(
        await answer(alone, someTokens(300), spelling(0)),
      )
    }
  })

  it('fail for one alone where the model knows no positions this far', async () => {
    const positions = 128
    const spec = { arch: 'mpt', hidden: 64, heads: 4, ffn: 64, layers: 1, context: positions } as const
    const file = fuzzModel({ spec })
    const ne = [64, positions]
    file.tensors.push({ name: 'position_embd.weight', ne, type: 0, offset: file.data.length })
    file.data = Buffer.concat([file.data, Buffer.alloc(64 * positions * 4)])
    await writeFile(scratch('positions.gguf'), mutated(file, []))
    await using model = await loadModel(scratch('positions.gguf'))
    const [context, sequences] = await opened({ model, nCtx: 512 })
    const settled = await Promise.allSettled(
      [5, 120, 9, 121].map((n, i) =>
        answer(sequences[i] as Sequence, someTokens(n, n), { ...spelling(i), nPredict: 14 }),
      ),
    )
    for (const i of [0, 2])
      expect(settled[i]).toMatchObject({ status: 'fulfilled', value: { stop: 'length' } })
    for (const i of [1, 3]) {
      const details = { nPositions: positions, position: positions }
      expect(settled[i]).toMatchObject({ reason: { code: 'ERR_H2O_PROMPT_TOO_LONG', details } })
    }
    await context.dispose()
  })

  it('end with their context', async () => {
    const [context, sequences] = await opened()
    const running = sequences.map((sequence, i) =>
      expect(answer(sequence, someTokens(30), { ...spelling(i), nPredict: -1 })).rejects.toMatchObject({
        code: 'ERR_H2O_DISPOSED',
      }),
    )
    await vi.waitUntil(() => sequences.every(({ position }) => position > 40), { interval: 1 })
    await Promise.all([context.dispose(), ...running])
  })
})

/** What a sequence does in a round; each has one of its own. */
interface Act {
  kind: number
  seed: number
  at: number
}

/** What is told of it is the same for a context of its own. */
async function act(sequence: Sequence, i: number, { kind, seed, at }: Act): Promise<Answer | string> {
  const text = someTokens(1 + (seed % 100), seed)
  const options = { ...spelling(i), append: seed % 2 === 0 }
  const isTooLong = sequence.position + text.length + 25 > sequence.nCtx
  if (isTooLong) await sequence.clear()
  if (kind === 0) {
    await sequence.truncate(Math.min(at, sequence.position))
    return 'cut'
  }
  if (kind === 1) return answer(sequence, text, options, 1 + (at % 8)) // its consumer leaves
  if (kind === 2) {
    const failed = answer(sequence, text, { ...options, ...broken(i) })
    return failed.then(
      () => 'none',
      (error) => error.code,
    )
  }
  if (kind === 3) {
    await sequence.clear()
    const n = sequence.nCtx - 1 - (at % 7)
    return answer(sequence, someTokens(n, seed), { ...spelling(i), nPredict: -1 }) // to the last position
  }
  if (kind === 4) {
    const stop = new AbortController()
    const got: Answer = { tokens: [], logprobs: [] }
    const generation = sequence.generate(text, { ...options, nPredict: -1, signal: stop.signal })
    for (let n = 0; n <= at % 5; n++) {
      const { value } = (await generation.next()) as IteratorYieldResult<{ token: number; logprob: number }>
      got.tokens.push(value.token)
      got.logprobs.push(value.logprob)
    }
    const next = generation.next() // its token waits, or is in a call, or is there
    for (let turn = 0; turn < seed % 4; turn++) await new Promise(setImmediate)
    stop.abort(new Error('enough'))
    await next.catch(() => {})
    await generation.return(undefined as never)
    await sequence.clear() // how far it came is a matter of time
    return got
  }
  if (kind === 5) {
    const state = await sequence.saveState()
    await sequence.prefill(text)
    await sequence.loadState(state)
    return 'loaded'
  }
  return answer(sequence, text, { ...options, stop: kind === 6 ? 'letter'.slice(0, 1) : [] })
}

it.each([
  ['llama', {}],
  ['lfm2', { layers: 6 }],
  ['gemma3', { layers: 6 }],
] as const)('sequences of %s end, fail, are left, aborted, filled and cut at random as contexts of their own', async (arch, spec) => {
  const settings = { model: await tinyModel({ arch, ...spec }), nCtx: 512 }
  const [context, sequences] = await opened(settings)
  const log = logged(context)
  const alone = await Promise.all(sequences.map(() => tinyContext(settings)))
  let state = 7
  const draw = (n: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 8) % n
  }
  for (let round = 0; round < nOps / 4; round++) {
    const acts = sequences.map(() => ({ kind: draw(8), seed: draw(1000), at: draw(400) }))
    const together = await Promise.all(
      sequences.map((sequence, i) => act(sequence, i, acts[i] as Act).catch((error) => String(error.code))),
    )
    for (const [i, one] of alone.entries()) {
      const expected = await act(one, i, acts[i] as Act).catch((error) => String(error.code))
      const got = together[i] as Answer | string
      if (typeof got === 'string' || typeof expected === 'string') expect(got).toBe(expected)
      else expectSame(got, expected)
      expect(sequences[i]?.position).toBe(one.position)
    }
  }
  expect(log.filter((call) => call.sequences.length > 1).length).toBeGreaterThan(nOps / 4)
  for (const one of [context, ...alone]) await one.dispose()
})
