// Models with sliding windows after a cut (patches/mends/kv-cache-prepare.patch): a call of several ubatches
// sees what it would see in a cache that never forgets. Both trees are asked, as the fault is upstream's.

import { expect, test } from 'vitest'
import { modelFile, open, randomTokens } from '../engine/support.js'
import { nmse } from '../reference/method/session.js'
import { stockLogits } from './stock.js'

const S = 128
const LONG = 6 * S + 11
const CUT = 50
const NEXT = S + 72

// a window and a chunk are nearly all cells of their cache, which are a multiple of 256
const spec = { arch: 'gemma3', layers: 6, slidingWindow: 100 } as const
const next = () => randomTokens(NEXT, 2)

test('unpatched llama.cpp with this mend', async () => {
  const model = await modelFile(spec)
  const settings = { nBatch: 8 * S, nUbatch: S, nThreads: 2, flashAttn: 'off', type: 'f32' } as const
  const at = LONG - CUT
  const tail = (logits: Float32Array, tokens: number) => logits.slice(-(logits.length / tokens) * NEXT)
  const fresh = await stockLogits(model, [...randomTokens(LONG, 1).slice(0, at), ...next()], {
    ...settings,
    cut: { at, count: 0 },
  })
  const cut = await stockLogits(model, [...randomTokens(LONG, 1), ...next()], {
    ...settings,
    cut: { at: LONG, count: CUT },
  })
  expect(nmse(tail(cut, LONG + NEXT), tail(fresh, at + NEXT))).toBeLessThan(1e-7)
})

test.each(['off', 'votes', 'query'] as const)('ours, %s', async (select) => {
  const model = await modelFile(spec)
  // by query all positions: cells in another order are sums in another order, which may change a set near a tie
  const heavy = select === 'query' ? 2 * LONG : 24
  const h2o = select !== 'off' && { local: 16, heavy, select, denseTail: 0 }
  const logits: Float32Array[] = []
  for (const swaFull of [false, true]) {
    const context = await open({ model, nBatch: 8 * S, nUbatch: S, swaFull, h2o })
    await context.prefill(randomTokens(LONG, 1))
    await context.truncate(LONG - CUT)
    logits.push((await context.decode(next(), { logits: 'all' })).logits as Float32Array)
  }
  expect(nmse(logits[0] as Float32Array, logits[1] as Float32Array)).toBeLessThan(1e-7)
})
