// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The reference of the policy `query`: its choices on keys made by hand.

import { expect, test } from 'vitest'
import { Random } from '../../../src/ts/model-maker/index.js'
import { range } from '../model/attention.js'
import { best } from './best.js'
import { landmarksOf, meanKey } from './key-index.js'
import { chooseSet, type Question, type Row } from './query.js'

test('the best of some: ties to the lower, NaN last, and the margin', () => {
  const scores = [1, Number.NaN, 3, 3, 3, -Infinity, 2]
  const of = (n: number) => best(range(0, 7), n, (i) => scores[i]!)
  expect(of(2)).toEqual({ taken: [2, 3], margin: 0 })
  expect(of(3)).toEqual({ taken: [2, 3, 4], margin: 1 })
  expect(of(6)).toEqual({ taken: [0, 1, 2, 3, 4, 6], margin: 0 })
  expect(of(9)).toEqual({ taken: range(0, 7), margin: Infinity })
})

const D = 4
const N = 2000
const along = (dim: number, length = 1) => new Float64Array(D).fill(length, dim, dim + 1)

/** Keys near the first direction but for those that are given, as a chunk at N finds them. */
function question(special: Record<number, Float64Array>, rows: Row[], H: number): Question {
  const random = new Random(1, 'keys')
  const keys = range(0, N).map((j) => special[j] ?? along(0).map((x) => x + 0.01 * (random.uniform() - 0.5)))
  return { rows, keys, begin: N, nCandidates: N - 8, H }
}

const row = (dim: number, lse: number): Row => ({ q: along(dim, 2), lse, nSeen: 8 })

test('the mean of a page, and the keys that are the least like the mean of their span', () => {
  const { keys } = question({ 300: along(1), 511: along(2, 0.1), 256: along(0, 50) }, [], 1)
  expect(meanKey(keys, 0)[0]).toBeCloseTo(1, 2)
  expect(meanKey(keys, 4)[0]).toBeCloseTo((50 + 62) / 64, 2) // 256 to 319
  expect(meanKey(keys, 4)[1]).toBeCloseTo(1 / 64, 3)
  const { taken } = landmarksOf(keys, 1)
  expect(taken).toHaveLength(16)
  expect(taken).toContain(300)
  expect(taken).toContain(511)
  expect(taken).not.toContain(256) // long, but as all others
})

test('a needy query finds a landmark that no page shows', () => {
  const needle = { 700: along(1, 3) }
  const satisfied = range(0, 60).map(() => row(0, 9))
  const find = (needy: number) => chooseSet(question(needle, [...satisfied, row(1, needy)], 8)).taken
  expect(find(1)).toContain(700)
  expect(find(1)).toHaveLength(8)
  // as many others need more
  const needier = [...satisfied, ...range(0, 4).map(() => row(2, 1)), row(1, 12)]
  expect(chooseSet(question(needle, needier, 8)).taken).not.toContain(700)
})

test('what all queries like is found key by key in the best pages, and behind the last page', () => {
  const liked = Object.fromEntries(range(640, 704).map((j) => [j, along(3, 2)]))
  const { taken } = chooseSet(question({ ...liked, 1990: along(3, 2.5) }, [row(3, 0)], 32))
  // the first eight of them are landmarks, and were found by need
  expect(taken).toEqual([...range(640, 671), 1990])
})

test('all candidates, where they are no more than H', () => {
  const ask = question({}, [row(0, 0)], 16)
  expect(chooseSet({ ...ask, nCandidates: 16 })).toEqual({ taken: range(0, 16), margin: Infinity })
  expect(chooseSet({ ...ask, nCandidates: 17 }).taken).toHaveLength(16)
})
