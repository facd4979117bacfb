// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The reference of the policy `query`: its choices on keys and queries made by hand.

import { expect, test } from 'vitest'
import { Random } from '../../../src/ts/model-maker/index.js'
import { range } from '../model/attention.js'
import { best } from './best.js'
import { meanOf } from './key-index.js'
import { chooseSet, type Question, type Row } from './query.js'
import { orderOf } from './query-order.js'

test('the best of some: ties to the lower, NaN last, and the margin', () => {
  const scores = [1, Number.NaN, 3, 3, 3, -Infinity, 2]
  const of = (n: number, least?: number) => best(range(0, 7), n, (i) => scores[i]!, least)
  expect(of(2)).toEqual({ taken: [2, 3], margin: 0 })
  expect(of(3)).toEqual({ taken: [2, 3, 4], margin: 1 })
  expect(of(6)).toEqual({ taken: [0, 1, 2, 3, 4, 6], margin: 0 })
  expect(of(9)).toEqual({ taken: range(0, 7), margin: Infinity })
  // those of a score and more
  expect(of(9, 1.75)).toEqual({ taken: [2, 3, 4, 6], margin: 0.25 })
  expect(of(3, 2.5)).toEqual({ taken: [2, 3, 4], margin: 0.5 })
  expect(of(9, 3.5)).toEqual({ taken: [], margin: 0.5 })
})

const D = 4
const N = 2000
const along = (dim: number, length = 1) => new Float64Array(D).fill(length, dim, dim + 1)

/** Keys near the first direction but for those that are given, candidates to the last one. */
function question(special: Record<number, Float64Array>, rows: Row[], H: number): Question {
  const random = new Random(1, 'keys')
  const keys = range(0, N).map((j) => special[j] ?? along(0).map((x) => x + 0.01 * (random.uniform() - 0.5)))
  return { rows, keys, nCandidates: N, H }
}

const row = (dim: number, lse: number): Row => ({ q: along(dim, 2), lse })

test('the mean of a page', () => {
  const { keys } = question({ 300: along(1), 256: along(0, 50) }, [], 1)
  expect(meanOf(keys, 0)[0]).toBeCloseTo(1, 2)
  expect(meanOf(keys, 4)[0]).toBeCloseTo((50 + 62) / 64, 2) // 256 to 319
  expect(meanOf(keys, 4)[1]).toBeCloseTo(1 / 64, 3)
})

test('what one query of a block wants is a member, beside position 0', () => {
  const needle = { 700: along(1, 30), 1990: along(2, 30) }
  const others = range(0, 60).map(() => row(0, 25))
  const find = (...rows: Row[]) => chooseSet(question(needle, [...others, ...rows], 9)).taken
  expect(find()).toEqual([0])
  expect(find(row(1, 25))).toEqual([0, 700])
  expect(find(row(1, 25), row(2, 25))).toEqual([0, 700, 1990])
  // what it sees without a set leaves less than the least share
  expect(find(row(1, 38))).toEqual([0, 700])
  expect(find(row(1, 39))).toEqual([0])
})

test('the least share is of what keys give by the first page and the means of others', () => {
  // s is 1 or 0; the first page counts key by key, the rest by its mean, and 16 keys behind the last page not at all
  const keys = range(0, N).map((x) => along(0, x < 64 || x >= 1984 ? 1 : 0))
  const share = (s: number, lse: number) => s - Math.log(Math.exp(lse) + 64 * Math.E + 1920)
  const least = Math.log(4 / 16384)
  const rows = (lse: number): Row[] => [{ q: along(0, 2), lse }] // the root of 4 is the scale
  const at = (s: number) => Math.log(Math.exp(s - least) - 64 * Math.E - 1920) // the lse of a share of just the least
  expect(share(1, at(1))).toBeCloseTo(least, 9)
  const set = (lse: number) => chooseSet({ rows: rows(lse), keys, nCandidates: N, H: N - 1 })
  expect(set(at(0) - 0.01).taken).toEqual([...range(0, 1983), ...range(1984, N)]) // one too many, the last of the worst
  expect(set(at(0) + 0.01).taken).toEqual([...range(0, 64), ...range(1984, N)])
  expect(set(at(1) - 0.01).taken).toEqual([...range(0, 64), ...range(1984, N)])
  expect(set(at(1) + 0.01).taken).toEqual([0])
  expect(set(at(1) + 0.01).margin).toBeLessThan(0.02)
})

test('more than H: position 0 and the best, ties to the lower', () => {
  const liked = Object.fromEntries(range(640, 704).map((j) => [j, along(3, 2)]))
  const ask = question({ ...liked, 1990: along(3, 2.5) }, [row(3, 0)], 32)
  expect(chooseSet(ask)).toEqual({ taken: [0, ...range(640, 670), 1990], margin: 0 })
  expect(chooseSet({ ...ask, H: 2 }).taken).toEqual([0, 1990])
  expect(chooseSet({ ...ask, H: 1 })).toEqual({ taken: [0], margin: Infinity })
  expect(chooseSet({ ...ask, H: 0 }).taken).toEqual([])
})

test('all candidates, where they are no more than H', () => {
  const ask = question({}, [row(0, 0)], 16)
  expect(chooseSet({ ...ask, nCandidates: 16 })).toEqual({ taken: range(0, 16), margin: Infinity })
  expect(chooseSet({ ...ask, nCandidates: 17 }).taken).toHaveLength(16)
})

test('what is NaN is not wanted, and does not count', () => {
  const nan = new Float64Array(D).fill(Number.NaN)
  const find = (...rows: Row[]) =>
    chooseSet(question({ 5: nan, 130: nan, 700: along(1, 30) }, rows, 99)).taken
  expect(find({ q: nan, lse: 1 })).toEqual([0])
  expect(find(row(1, 25), { q: nan, lse: 1 })).toEqual([0, 700])
  expect(find(row(1, Number.NaN))).not.toContain(5)
  expect(find(row(1, Number.NaN))).toContain(700)
  expect(find(row(1, -Infinity))).toEqual(find(row(1, Number.NaN)))
})

test('a chunk of a block and less has its own order', () => {
  const random = new Random(2, 'queries')
  const queries = (n: number) => range(0, n).map(() => new Float64Array(D).map(() => random.uniform()))
  expect(orderOf(queries(64))).toEqual(range(0, 64))
  expect(orderOf(queries(1))).toEqual([0])
})

test('queries of two topics get a block each', () => {
  const topicOf = (i: number) => (i * 7) % 2 // turn by turn
  const order = orderOf(range(0, 128).map((i) => along(topicOf(i), 1 + i / 1000)))
  const sizes = [order.slice(0, 64), order.slice(64)].map((block) => new Set(block.map(topicOf)).size)
  expect(sizes).toEqual([1, 1])
  for (const begin of [0, 64]) {
    const block = order.slice(begin, begin + 64)
    expect(block).toEqual([...block].sort((a, b) => a - b))
  }
})

test('parts are of whole blocks, the shorter one the last', () => {
  // one channel, so that u goes along it: the lowest queries are first
  const falling = (n: number) => orderOf(range(0, n).map((i) => new Float64Array([(n - i) / n])))
  const n = 65
  expect(falling(n)).toEqual([...range(1, 65), 0])
  // 200: 128 and 72, of which 64 and 64, 64 and 8; 8 bits make some equal, whose order is that of their positions
  expect(falling(200).slice(192)).toEqual(range(0, 8))
  expect(
    falling(200)
      .slice(0, 64)
      .every((i) => i >= 135),
  ).toBe(true)
})

test('rounded to even, and what is not finite is zero', () => {
  // 63 queries of nothing, then 0.5 (to 0), 1.5 (to 2), -0.5, NaN, and the largest
  const special = [0.5, 1.5, -0.5, Number.NaN, Infinity, 127]
  const queries = [...special, ...range(0, 63).map(() => 0)].map((x) => new Float64Array([x]))
  // 0.5, -0.5, NaN and Infinity are 0 as the 63, and first by their positions
  expect(orderOf(queries)).toEqual([0, ...range(2, 5), ...range(6, 66), ...[1, 5, ...range(66, 69)]])
})

test('any magnitude, and none', () => {
  const random = new Random(3, 'queries')
  const queries = range(0, 300).map(() => new Float64Array(D).map(() => random.uniform() - 0.5))
  const times = (f: number) => orderOf(queries.map((q) => q.map((x) => x * f)))
  expect(times(2 ** -130)).toEqual(times(1))
  expect(times(2 ** 127)).toEqual(times(1))
  expect(times(1)).not.toEqual(range(0, 300))
  expect(times(0)).toEqual(range(0, 300))
})
