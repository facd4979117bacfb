// What the report's short cuts rest on, on a tiny model of random weights.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { contextOptions, Reader } from '../../bench/quality/reader.mjs'
import { type Context, createContext } from '../../src/ts/index.js'
import { tinyModel } from '../ts/support.js'

const ids = Array.from({ length: 300 }, (_, i) => 1 + ((i * 37) % 90))
const questions = [
  [5, 6, 7],
  [9, 8],
]

const ways = [
  { schedule: 'single-pass', select: 'votes' },
  { schedule: 'two-pass', select: 'votes' },
  { schedule: 'single-pass', select: 'query' },
] as const

for (const { schedule, select } of ways) {
  const name = `${schedule} ${select}`
  let ctx: Context
  beforeAll(async () => {
    const setting = { label: '', schedule, select, S: 64, local: 16, heavy: 16 }
    const model = await tinyModel({}, 'reader')
    ctx = await createContext(contextOptions(setting, { model, nCtx: 512, threads: 1, flashAttn: 'off' }))
  })
  afterAll(() => ctx.dispose())

  it(`${name}: a question asked from a saved head is asked of the whole prompt`, async () => {
    const reader = new Reader(ctx)
    const asked: Float32Array[] = []
    await reader.open(ids, questions.length)
    for (const question of questions) {
      asked.push((await reader.askInPrompt(question)).logits as Float32Array)
      await reader.askBehind([1, 2, 3])
    }
    for (const [i, question] of questions.entries()) {
      const { logits, path } = await ctx.prefill([...ids, ...question])
      expect(path).toBe('h2o')
      expect(asked[i]).toEqual(logits)
    }
  })

  it(`${name}: a question behind the prompt is dense`, async () => {
    const reader = new Reader(ctx)
    await reader.open(ids)
    const behind: (Float32Array | null)[] = []
    for (const question of questions) {
      await reader.askInPrompt(question)
      behind.push((await reader.askBehind([1, 2, 3])).logits)
    }
    // with `query` the end of the text knows what was asked before: the queries of a block choose together
    if (select === 'votes') expect(behind[0]).toEqual(behind[1])
    const { call } = await ctx.decode([4])
    expect(call).toMatchObject({ path: 'dense', pos: 303 })
  })
}
