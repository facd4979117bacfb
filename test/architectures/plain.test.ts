// Architectures with plain KV caches, tiny and with random weights. Refused ones: the call is dense, says why, and its
// logits are stock's to the bit.

import { expect, test } from 'vitest'
import { covered, refused } from './plain.js'
import { allInOneCall, expectServed, named, stockOf } from './served.js'

test.each(named(covered))('$name', expectServed)

test.each(named(refused))('$name: $reason', async ({ reason, ...row }) => {
  const { model, stock } = await stockOf(row)
  const { call, logits } = await allInOneCall(model, { local: 16, heavy: 16 })
  expect(call).toMatchObject({ path: 'dense', reason, inherited: 0, chunks: 0 })
  expect(logits).toEqual(stock)
})
