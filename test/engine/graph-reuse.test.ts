// A graph that is used again gives what a new one gives.

import { expect } from 'vitest'
import { HotText } from '../reference/method/hot-text.js'
import { allLogits, hotModel, open } from './support.js'
import { testWays } from './ways.js'

const S = 32
const H = 16

const ways = [
  { schedule: 'single-pass', select: 'query' },
  { schedule: 'single-pass', select: 'votes' },
  { schedule: 'two-pass', select: 'votes' },
] as const

testWays(ways, 'two calls inside one block of 256 cells, $schedule, $select', async (way) => {
  const { path } = await hotModel('llama', 2)
  const run = async () => {
    const context = await open({
      model: path,
      nBatch: 16 * S,
      nUbatch: S,
      h2o: { local: 8, heavy: H, ...way },
    })
    const text = new HotText({ S, H, nChunks: 9 })
    const logits = []
    for (const n of [2 * S, 2 * S, 2 * S, 3 * S]) logits.push(await allLogits(context, text.next(n)))
    await context.clear()
    const again = new HotText({ S, H, nChunks: 9 })
    for (const n of [2 * S, 2 * S]) logits.push(await allLogits(context, again.next(n)))
    return logits
  }
  const reused = await run()
  process.env.LLAMA_GRAPH_REUSE_DISABLE = '1'
  try {
    expect(await run()).toEqual(reused)
  } finally {
    delete process.env.LLAMA_GRAPH_REUSE_DISABLE
  }
  expect(reused[4]).toEqual(reused[0])
  expect(reused[5]).toEqual(reused[1])
})
