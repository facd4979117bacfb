// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// What the policy `query` chooses is a function of the cache and of the chunk alone: the same tokens at the same
// chunk borders give the same bits, whatever the context has been through before.

import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Context, ContextOptions, H2oOptions } from '../../src/ts/index.js'
import { open, plainModel, randomTokens } from './support.js'
import { tagsOf } from './ways.js'

const S = 96 // a block and a half, a page and a half
const query = { local: 24, heavy: 32, select: 'query', trace: true, denseTail: 0 } satisfies H2oOptions
const kinds = {
  'f32, -fa off': { typeK: 'f32', typeV: 'f32', flashAttn: 'off' },
  'q8_0, -fa on': { typeK: 'q8_0', typeV: 'q8_0', flashAttn: 'on' },
} satisfies Record<string, Partial<ContextOptions>>

const model = await plainModel({ arch: 'qwen3', hidden: 128, headDim: 32, kvHeads: 2 })
const text = randomTokens(40 * S)
const other = randomTokens(40 * S, 2)

type Step =
  /** the next tokens of the text, in one call */
  | { read: number }
  /** and in calls of one token */
  | { decode: number }
  /** tokens of another text, in one call; to be removed again */
  | { stray: number }
  | { truncate: number }
  /** the context's state goes into another one, that has read another text */
  | 'move'
  | 'clear'

const read = (...n: number[]): Step[] => n.map((read) => ({ read }))

async function newContext(options: Partial<ContextOptions>): Promise<Context> {
  return open({ model: model.path, nBatch: 16 * S, nUbatch: S, h2o: query, ...options })
}

async function follow(steps: readonly Step[], options: Partial<ContextOptions>): Promise<Context> {
  let context = await newContext(options)
  for (const step of steps) {
    const at = context.position
    if (step === 'clear') await context.clear()
    else if (step === 'move') {
      const state = await context.saveState()
      await context.dispose()
      context = await newContext({ ...options, h2o: query })
      await context.decode(other.slice(0, 16 * S))
      expect(await context.loadState(state)).toEqual({ position: at, inherited: true, reason: null })
    } else if ('truncate' in step) await context.truncate(step.truncate)
    else if ('stray' in step) await context.decode(other.slice(at, at + step.stray))
    else if ('read' in step) await context.decode(text.slice(at, at + step.read))
    else for (let i = at; i < at + step.decode; i++) await context.decode(text[i]!)
  }
  return context
}

/** Short, so that a difference is one word and not a million numbers. */
function bitsOf(values: Float32Array | Int32Array | null): string {
  if (!values) throw new Error('no values')
  return createHash('sha1').update(values).digest('hex')
}

/** What the context makes of the text's next tokens: in a sparse call, and then in a dense one that sees all of it. */
async function ending(context: Context) {
  const at = context.position
  const { call, logits } = await context.decode(text.slice(at, at + 3 * S + 9), { logits: 'all' })
  expect(call).toMatchObject({ path: 'h2o', chunks: 4 })
  const sets = context.takeTrace().map(({ order, memPos }) => [bitsOf(order), bitsOf(memPos)])
  const dense = await context.decode(65)
  await context.dispose()
  return { call, sets, logits: bitsOf(logits), dense: bitsOf(dense.logits) }
}

/** From 20 chunks on: 30 pages. */
const whole = read(12 * S, 8 * S)
/** Borders that are no multiples of 64, nor of S. */
const odd: Step[] = [...read(37, 13 * S + 21), { decode: 11 }, ...read(6 * S)]

const histories: { name: string; like: Step[]; steps: Step[] }[] = [
  { name: 'in calls of 3, 4, 5 and 8 chunks', like: whole, steps: read(3 * S, 4 * S, 5 * S, 8 * S) },
  { name: 'in calls of 16 chunks', like: whole, steps: read(16 * S, 4 * S) },
  {
    name: 'read otherwise, removed from the middle of a page on, and read again',
    like: whole,
    steps: [
      ...read(9 * S),
      { stray: 7 * S },
      { truncate: 1000 },
      { stray: 5 * S },
      { truncate: 9 * S },
      ...read(11 * S),
    ],
  },
  {
    name: 'read otherwise and removed within the first pages',
    like: whole,
    steps: [
      ...read(2 * S),
      { stray: 14 * S },
      { truncate: 200 },
      { stray: 40 },
      { stray: 9 * S },
      { truncate: 2 * S },
      ...read(14 * S, 4 * S),
    ],
  },
  {
    name: 'after another prompt',
    like: whole,
    steps: [{ stray: 16 * S }, { stray: 3 * S }, 'clear', ...read(16 * S, 4 * S)],
  },
  { name: 'moved to another context', like: whole, steps: [...read(12 * S), 'move', ...read(8 * S), 'move'] },
  {
    name: 'behind a dense call and decoding, in other calls',
    like: odd,
    steps: [...read(37, 5 * S, 8 * S + 21), { decode: 11 }, ...read(2 * S, 4 * S)],
  },
  {
    name: 'behind a dense call, moved, removed and decoded again',
    like: odd,
    steps: [
      ...read(37, 13 * S + 21),
      'move',
      { stray: 7 },
      { stray: 5 * S },
      { truncate: 37 + 13 * S + 21 },
      { decode: 11 },
      ...read(6 * S),
    ],
  },
]

const savers = [
  { name: 'votes', h2o: { ...query, select: 'votes' } },
  { name: 'votes of another budget', h2o: { local: 8, heavy: 8, schedule: 'two-pass' } },
  { name: 'no method', h2o: false },
] as const

describe.each(Object.entries(kinds))('%s', (_, kind) => {
  const expected = new Map<Step[], ReturnType<typeof ending>>()
  const endingOf = (like: Step[]) => {
    const known = expected.get(like) ?? follow(like, kind).then(ending)
    expected.set(like, known)
    return known
  }

  test.each(histories)('$name: the same bits', async ({ like, steps }) => {
    expect(await ending(await follow(steps, kind))).toEqual(await endingOf(like))
  })

  test.each([1, 3, 8])('%d threads: the same bits', async (n) => {
    const threads = { nThreads: n, nThreadsBatch: n }
    expect(await ending(await follow(whole, { ...kind, ...threads }))).toEqual(await endingOf(whole))
  })

  test('prefill with -b of 3 to 16 chunks: the same bits', async () => {
    const prompt = Int32Array.from(text.slice(0, 20 * S + 9))
    const results = []
    for (const chunks of [16, 3, 4, 5, 8]) {
      const context = await newContext({ ...kind, nBatch: chunks * S })
      const { logits, calls, denseTail } = await context.prefill(prompt)
      expect({ paths: new Set(calls.map(({ path }) => path)), denseTail }).toEqual({
        paths: new Set(['h2o']),
        denseTail: 0,
      })
      const last = context.takeTrace().filter(({ pos }) => pos === 20 * S)
      const dense = await context.decode(65)
      results.push({
        sets: last.map(({ order, memPos }) => [bitsOf(order), bitsOf(memPos)]),
        logits: bitsOf(logits),
        dense: bitsOf(dense.logits),
      })
      await context.dispose()
    }
    for (const result of results) expect(result).toEqual(results[0])
  })

  // K and V are all that it needs: read by stock's attention, the cache is the same whatever the method
  for (const { name, h2o } of savers) {
    test(`a state saved with ${name} goes on as one of its own`, tagsOf(h2o || {}), async () => {
      const dense = read(...Array.from({ length: 14 }, () => S))
      const stock = { ...kind, upstreamProducts: true }
      const saved = await ending(await follow([...dense, 'move'], { ...stock, h2o }))
      expect(saved).toEqual(await ending(await follow(dense, stock)))
    })
  }
})
