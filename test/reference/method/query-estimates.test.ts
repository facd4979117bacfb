// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The reference of the policy `query`: what sets leave out, on keys and values made by hand and on whole tiny models.

import { expect, test } from 'vitest'
import { type ModelSpec, makeModel, Random } from '../../../src/ts/model-maker/index.js'
import { range, weightedSum } from '../model/attention.js'
import { referenceOf } from '../model/from-gguf.js'
import { softmax } from '../model/ops.js'
import { logit } from './query.js'
import { estimateLogit, estimatesOf } from './query-estimates.js'
import type { BlockTrace } from './query-pass.js'
import { nmse, ReferenceSession } from './session.js'

const D = 4
const random = new Random(1, 'estimates')
const anyRow = () => new Float64Array(D).map(() => 2 * random.uniform() - 1)
const anyRows = (n: number) => range(0, n).map(anyRow)

/** Of two candidates behind whole page 4, and some cells more. */
const cells = { keys: anyRows(400), values: anyRows(400), nCandidates: 5 * 64 + 2 }
const leftOf = (set: readonly number[], nCandidates = cells.nCandidates) =>
  estimatesOf({ ...cells, nCandidates }, set).map(({ left }) => left)

/** What a query finds in keys, and in estimates beside them. */
function attend(q: Float64Array, at: readonly number[], estimates: ReturnType<typeof estimatesOf> = []) {
  const logits = [...at.map((x) => logit(q, cells.keys[x]!)), ...estimates.map((e) => estimateLogit(q, e))]
  const out = new Float64Array(D)
  weightedSum(softmax(logits), [...at.map((x) => cells.values[x]!), ...estimates.map((e) => e.value)], out)
  return out
}

test('by hand: a page of two kinds of keys, of which a set has some', () => {
  // q k / 2 is 1 for 16 keys of page 1 and 0 for the others; the values are 1 and 0
  const kind = range(0, 128).map((x) => (x >= 64 && x < 80 ? 1 : 0))
  const keys = kind.map((one) => new Float64Array([one, 0, 0, 0]))
  const values = kind.map((one) => new Float64Array([one]))
  const set = [0, 64, 65, 127] // 61 of 64 are left
  const [estimate, ...others] = estimatesOf({ keys, values, nCandidates: 128 }, set)
  expect(others).toEqual([])
  expect(estimate).toEqual({
    key: new Float64Array([0.25, 0, 0, 0]),
    value: new Float64Array([0.25]),
    left: 61,
  })
  const q = new Float64Array([2, 0, 0, 0])
  expect(estimateLogit(q, estimate!)).toBeCloseTo(0.25 + Math.log(61), 12)
})

test('what is left of whole pages from the second on, and of no others', () => {
  expect(leftOf([0])).toEqual([64, 64, 64, 64])
  expect(leftOf([0, 1, 2, 63, 64, 127, 128, 319, 320])).toEqual([62, 63, 64, 63])
  expect(leftOf([0], 319)).toEqual([64, 64, 64])
  expect(leftOf([0], 127)).toEqual([])
  expect(leftOf([0], 128)).toEqual([64])
})

test('a page that is wholly in the set counts nothing, nor does anything where the set has all', () => {
  expect(leftOf([0, ...range(128, 192)])).toEqual([64, 64, 64])
  expect(leftOf(range(0, cells.nCandidates))).toEqual([])
  // left out of the first page and behind the last whole one
  expect(leftOf([0, ...range(64, 320)])).toEqual([])
  // all but one
  expect(leftOf([0, ...range(64, 319)])).toEqual([1])
})

test('without a set nothing is left out of it', () => {
  expect(leftOf([])).toEqual([])
})

test('a page of equal keys is estimated exactly', () => {
  const q = anyRow()
  const all = range(0, 128)
  const equal = (rows: Float64Array[]) => {
    const one = anyRow()
    for (let x = 64; x < 128; x++) rows[x] = one
  }
  equal(cells.keys)
  const of = (set: readonly number[]) => attend(q, set, estimatesOf({ ...cells, nCandidates: 128 }, set))
  const expectAll = (out: Float64Array) => {
    for (const [k, x] of attend(q, all).entries()) expect(out[k]).toBeCloseTo(x, 12)
  }
  // any values, where the whole page is left out
  expectAll(of(range(0, 64)))
  expect(Math.abs(of(range(0, 100))[0]! - attend(q, all)[0]!)).toBeGreaterThan(1e-4)
  // and a part of it, where they are equal, too
  equal(cells.values)
  expectAll(of(range(0, 100)))
  expectAll(of([...range(0, 64), 71, 127]))
})

// on whole models

const tokensOf = (n: number) => range(0, n).map((i) => (i * i * 7 + i * 13 + 1) % 256)
const tiny = { arch: 'llama', hidden: 32, heads: 2, kvHeads: 1, headDim: 16, attentionGain: 3 } as const
const logitsOf = (spec: ModelSpec, tokens: number[], options: { S: number; L: number; H: number }) =>
  new ReferenceSession(referenceOf(makeModel(spec)), { ...options, select: 'query' }).call(tokens)

test('with equal keys all over, sets of whole pages give what dense attention does', () => {
  const edit: ModelSpec['edit'] = (name, values) => {
    if (name.endsWith('attn_k.weight')) values.fill(0)
  }
  const spec = { ...tiny, layers: 1, edit }
  const tokens = tokensOf(300) // the last block is of 44
  const dense = logitsOf(spec, tokens, { S: 0, L: 0, H: 0 }).logits
  const errorOf = (L: number, H: number) => nmse(logitsOf(spec, tokens, { S: 128, L, H }).logits, dense)
  // all want all: the sets are the first H positions
  expect(errorOf(64, 64)).toBeLessThan(1e-20)
  expect(errorOf(0, 128)).toBeLessThan(1e-20)
  // keys of the first page that nobody reads, those behind the last whole page, and a mean that is of what was read, too
  expect(errorOf(64, 63)).toBeGreaterThan(1e-9)
  expect(errorOf(60, 64)).toBeGreaterThan(1e-9)
  expect(errorOf(64, 100)).toBeGreaterThan(1e-9)
})

test('estimates are those of the set that is attended to, also of another one', () => {
  const session = () =>
    new ReferenceSession(referenceOf(makeModel(tiny)), { S: 128, L: 0, H: 8, select: 'query' })
  const tokens = tokensOf(300)
  const own = session().call(tokens)
  const forced = (setOf: (block: BlockTrace) => number[]) =>
    session().call(tokens, {
      forcedBlocks: (layer, chunk, head, block) => {
        const entry = own.blocks.find(
          (b) => b.layer === layer && b.chunk === chunk && b.head === head && b.block === block,
        )!
        return { queries: entry.queries, set: setOf(entry) }
      },
    })
  expect(forced(({ set }) => set)).toEqual(own)
  // with all candidates nothing is left out: dense attention
  const dense = new ReferenceSession(session().model, { S: 0, L: 0, H: 0 }).call(tokens)
  const all = forced(({ pos }) => range(0, pos))
  expect(nmse(all.logits, dense.logits)).toBeLessThan(1e-20)
  expect(nmse(own.logits, dense.logits)).toBeGreaterThan(1e-9)
})

test('a query has the estimates of its own block, in any order, and the last one may be short', () => {
  // one layer: what a query finds depends on no other's set
  const model = referenceOf(makeModel({ ...tiny, layers: 1 }))
  const tokens = tokensOf(280)
  const dense = new ReferenceSession(model, { S: 0, L: 0, H: 0 }).call(tokens).logits
  const rowOf = (logits: Float64Array, i: number) =>
    logits.slice((i * dense.length) / 280, ((i + 1) * dense.length) / 280)
  /** Which queries of the second chunk find all: of its blocks, 64, 64 and 12, one has all of the 128 candidates. */
  const exact = (whole: number, order: readonly number[]) => {
    const session = new ReferenceSession(model, { S: 140, L: 12, H: 300, select: 'query' })
    const { logits } = session.call(tokens, {
      forcedBlocks: (_, chunk, __, block) => ({
        queries: order.slice(block * 64, (block + 1) * 64),
        set: range(0, chunk === 0 ? 0 : block === whole ? 128 : 64),
      }),
    })
    return range(0, 140).filter((i) => nmse(rowOf(logits, 140 + i), rowOf(dense, 140 + i)) < 1e-20)
  }
  expect(exact(1, range(0, 140))).toEqual(range(64, 128))
  const turned = range(0, 140).reverse()
  expect(exact(0, turned)).toEqual(range(76, 140))
  expect(exact(2, turned)).toEqual(range(0, 12))
})
