// Architectures with plain KV caches, tiny and with random weights, against the unpatched pin. Served ones: a sparse call
// that leaves nothing out has stock's logits, one that leaves something out has not, and with H2O off they are equal to
// the bit. Refused ones: the call is dense, says why, and its logits are stock's to the bit.

import { afterEach, expect, test } from 'vitest'
import type { Context, H2oOptions } from '../../src/ts/index.js'
import { open, randomTokens } from '../engine/support.js'
import { stockLogits } from '../parity/stock.js'
import { nmse } from '../reference/session.js'
import { architectureFile } from './files.js'
import { covered, refused } from './table.js'

const S = 96 // for `query` a block and a half
const P = 20
const N = 3 * S + 5
const SIZES = { nBatch: 4 * S, nUbatch: S, nThreads: 1 } // tiny models gain nothing from more

const tokens = randomTokens(N)

// what came before the second call is Local, or Local and all that is left
const methods = [
  { select: 'votes', local: P + 4, heavy: 8 },
  { select: 'query', local: 8, heavy: 16 },
] satisfies H2oOptions[]

const named = <T extends { name?: string; arch: string }>(rows: T[]) =>
  rows.map((row) => ({ ...row, name: row.name ?? row.arch }))

async function decoded(context: Context, part: number[]) {
  const { call, logits } = await context.decode(part, { logits: 'all' })
  return { call, logits: logits as Float32Array }
}

afterEach(() => {
  delete process.env.H2O_FUSED
})

test.each(named(covered))('$name', async (row) => {
  const model = await architectureFile(row)
  const stock = await stockLogits(model, tokens, { ...SIZES, flashAttn: 'off', type: 'f32' })
  const nVocab = stock.length / N
  const rows = (from: number, to: number) => stock.subarray(from * nVocab, to * nVocab)

  const off = await open({ model, ...SIZES, nCtx: 1024, nThreadsBatch: 1, h2o: false })
  expect((await decoded(off, tokens)).logits).toEqual(stock)
  await off.dispose()

  for (const h2o of methods) {
    for (const fused of ['0', '1']) {
      process.env.H2O_FUSED = fused
      const context = await open({ model, ...SIZES, nCtx: 1024, nThreadsBatch: 1, h2o })
      await context.decode(tokens.slice(0, P))
      const nothing = await decoded(context, tokens.slice(P, P + S + 1))
      expect(nothing.call).toMatchObject({ path: 'h2o', reason: null, chunks: 2 })
      const seesAll = nothing.logits.subarray(0, S * nVocab)
      expect(nmse(seesAll, rows(P, P + S)), h2o.select).toBeLessThanOrEqual(1e-8)

      await context.clear()
      const some = await decoded(context, tokens)
      expect(some.call).toMatchObject({ path: 'h2o', chunks: 4 })
      expect(nmse(some.logits.subarray(2 * S * nVocab), rows(2 * S, N))).toBeGreaterThan(1e-4)
      await context.dispose()
    }
  }
})

test.each(named(refused))('$name: $reason', async ({ reason, ...row }) => {
  const model = await architectureFile(row)
  const stock = await stockLogits(model, tokens, { ...SIZES, flashAttn: 'off', type: 'f32' })
  const context = await open({ model, ...SIZES, nCtx: 1024, nThreadsBatch: 1, h2o: { local: 16, heavy: 16 } })
  const { call, logits } = await decoded(context, tokens)
  expect(call).toMatchObject({ path: 'dense', reason, inherited: 0, chunks: 0 })
  expect(logits).toEqual(stock)
})
