// The dense tail: the last tokens of a prompt go in calls that see the whole cache, and leave the memory as it is.

import { expect } from 'vitest'
import { HotText } from '../reference/method/hot-text.js'
import { nmse, ReferenceSession } from '../reference/method/session.js'
import { hotModel, open } from './support.js'
import { policies, testWays } from './ways.js'

// scores in F32 on every machine: others are rounded, and their sets are near these and not equal
process.env.H2O_AMX = '0'
process.env.H2O_INT8 = '0'

const S = 32
const budget = { local: 8, heavy: 16 }
const sizes = { nBatch: 4 * S, nUbatch: S }

testWays(policies, '$select: is dense call by call, and as long as was asked', async ({ select }) => {
  const model = await hotModel('llama', 2)
  const context = await open({ model: model.path, ...sizes, h2o: { ...budget, select, denseTail: S + 3 } })
  expect(context.h2o.denseTail).toBe(S + 3)
  const tokens = new HotText({ S, H: budget.heavy, nChunks: 8 }).next(8 * S)

  const { calls, denseTail, path, logits } = await context.prefill(tokens)
  expect(calls.map(({ n, path }) => [n, path])).toEqual([
    [4 * S, 'h2o'],
    [3 * S - 3, 'h2o'],
    [S, 'dense'],
    [3, 'dense'],
  ])
  expect({ denseTail, path }).toEqual({ denseTail: S + 3, path: 'h2o' })

  const reference = new ReferenceSession(model.reference, { S, L: budget.local, H: budget.heavy, select })
  let last: Float64Array = new Float64Array()
  for (const { pos, n } of calls) last = reference.call(tokens.slice(pos, pos + n)).logits
  expect(nmse(logits as Float32Array, last.slice(-(logits as Float32Array).length))).toBeLessThanOrEqual(1e-9)
})

testWays(policies, '$select: is no longer than the prompt, which is then dense', async ({ select }) => {
  const { path: model } = await hotModel('llama', 2)
  const context = await open({ model, ...sizes, h2o: { ...budget, select, denseTail: 1000 } })
  const { calls, path, denseTail } = await context.prefill(
    new HotText({ S, H: budget.heavy, nChunks: 4 }).next(3 * S + 1),
  )
  expect(calls.map(({ n }) => n)).toEqual([S, S, S, 1])
  expect({ path, denseTail }).toEqual({ path: 'dense', denseTail: 0 })
})
