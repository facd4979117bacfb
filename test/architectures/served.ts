// What holds for an architecture that H2O serves, against the unpatched pin: a sparse call that leaves nothing out has
// stock's logits, one that leaves something out has not, and with H2O off they are equal to the bit.

import { afterEach, expect } from 'vitest'
import type { Context, H2oOptions } from '../../src/ts/index.js'
import { open, randomTokens } from '../engine/support.js'
import { stockLogits } from '../parity/stock.js'
import { nmse } from '../reference/method/session.js'
import { architectureFile } from './files.js'
import type { Row } from './plain.js'

const S = 96 // for `query` a block and a half
const P = 20
const N = 3 * S + 5
const SIZES = { nBatch: 4 * S, nUbatch: S, nThreads: 1 } // tiny models gain nothing from more

const tokens = randomTokens(N)

// what came before the second call is Local, or Local and all that is left
const methods = [
  { select: 'votes', local: P + 4, heavy: 8 },
  { select: 'query', local: 8, heavy: 16 },
] as const satisfies readonly H2oOptions[]

afterEach(() => {
  delete process.env.H2O_FUSED
})

/** Rows with a name each, for test.each. */
export const named = <T extends Row>(rows: T[]) => rows.map((row) => ({ ...row, name: row.name ?? row.arch }))

/** Logits of stock llama.cpp for a prompt of four chunks, and the model's file. */
export async function stockOf(row: Row): Promise<{ model: string; stock: Float32Array }> {
  const model = await architectureFile(row)
  return { model, stock: await stockLogits(model, tokens, { ...SIZES, flashAttn: 'off', type: 'f32' }) }
}

/** The same prompt in one call. */
export async function allInOneCall(model: string, h2o: H2oOptions | false) {
  const context = await open({ model, ...SIZES, nCtx: 1024, nThreadsBatch: 1, h2o })
  const result = await decoded(context, tokens)
  await context.dispose()
  return result
}

export async function expectServed(row: Row): Promise<void> {
  const { model, stock } = await stockOf(row)
  const nVocab = stock.length / N
  const rows = (from: number, to: number) => stock.subarray(from * nVocab, to * nVocab)

  expect(nmse((await allInOneCall(model, false)).logits, stock)).toBe(0) // shorter to read than a diff of 75000 numbers

  for (const h2o of methods) {
    for (const fused of ['0', '1']) {
      process.env.H2O_FUSED = fused
      // what comes before is stock's to the bit
      const context = await open({
        ...{ model, ...SIZES, nCtx: 1024, nThreadsBatch: 1, h2o },
        upstreamProducts: true,
      })
      await context.decode(tokens.slice(0, P))
      const nothing = await decoded(context, tokens.slice(P, P + S + 1))
      expect(nothing.call).toMatchObject({ path: 'h2o', reason: null, chunks: 2 })
      const seesAll = nothing.logits.subarray(0, S * nVocab)
      expect(nmse(seesAll, rows(P, P + S)), h2o.select).toBeLessThanOrEqual(1e-8) // GELU is a table of F16

      await context.clear()
      const some = await decoded(context, tokens)
      expect(some.call).toMatchObject({ path: 'h2o', chunks: 4 })
      expect(nmse(some.logits.subarray(2 * S * nVocab), rows(2 * S, N))).toBeGreaterThan(1e-4)
      await context.dispose()
    }
  }

  // a short dense call by the exact kernel; the last bit of what goes into a GELU can move an entry of its table
  const context = await open({ model, ...SIZES, nCtx: 1024, nThreadsBatch: 1, h2o: methods[0] })
  const { call, logits } = await decoded(context, tokens.slice(0, P))
  expect(call.exact).toBe(true)
  expect(nmse(logits, rows(0, P))).toBeLessThanOrEqual(1e-5)
  await context.dispose()
}

async function decoded(context: Context, part: number[]) {
  const { call, logits } = await context.decode(part, { logits: 'all' })
  return { call, logits: logits as Float32Array }
}
