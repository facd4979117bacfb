// The quality report's own arithmetic, against values worked out by hand.
import { describe, expect, it } from 'vitest'
import { wilson } from '../../bench/quality/interval.mjs'
import { heavySets, jaccard, leastAlike, turnover, turnovers } from '../../bench/quality/memory-sets.mjs'
import { sharedHead } from '../../bench/quality/reader.mjs'
import { partOf, Tally } from '../../bench/quality/tally.mjs'
import { argmax } from '../../src/ts/cli/statistics.js'

describe('wilson', () => {
  it.each([
    // as statistical tables have it
    [8, 10, 0.4902, 0.9433],
    [0, 10, 0, 0.2775],
    [10, 10, 0.7225, 1],
    [45, 50, 0.7864, 0.9565],
  ])('%i of %i', (right, n, low, high) => {
    expect(wilson(right, n).low).toBeCloseTo(low, 4)
    expect(wilson(right, n).high).toBeCloseTo(high, 4)
  })

  it('knows nothing of no answers', () => {
    expect(wilson(0, 0)).toEqual({ low: 0, high: 1 })
  })
})

describe('Tally', () => {
  const row = { setting: 'dense', task: 'passkey', length: 2048, ask: 'behind' as const }

  it('counts by cell and by depth', () => {
    const tally = new Tally()
    tally.add({ ...row, where: 0.06, right: true })
    tally.add({ ...row, where: 0.05, right: false })
    tally.add({ ...row, where: 0.94, right: true })
    tally.add({ ...row, ask: 'prompt', where: 0.94, right: true })
    const [behind, prompt] = tally.cells()
    expect(behind).toMatchObject({ ...row, n: 3, right: 2, ...wilson(2, 3) })
    expect(behind?.parts.map(({ where, n, right }) => [where, n, right])).toEqual([
      [0.05, 2, 1],
      [0.95, 1, 1],
    ])
    expect(prompt).toMatchObject({ ask: 'prompt', n: 1, right: 1 })
  })

  it('takes chunks back as they are', () => {
    expect(partOf({ ask: 'inside', where: 3 })).toBe(3)
  })
})

describe('sharedHead', () => {
  it.each([
    [8144, 1024, 6144],
    [8192, 1024, 7168],
    [3072, 1024, 2048],
    // one chunk alone would be dense
    [3071, 1024, 0],
    [100, 1024, 0],
  ])('of %i tokens in chunks of %i is %i', (n, chunk, head) => {
    expect(sharedHead(n, chunk)).toBe(head)
    // with one more token the rest is sparse
    expect(n + 1 - head).toBeGreaterThan(head > 0 ? chunk : 0)
  })
})

it('argmax takes the lowest of equals', () => {
  expect(argmax(Float32Array.of(1, 3, 3, 2))).toBe(1)
})

describe('memory sets', () => {
  it('are compared as sets', () => {
    expect(jaccard([1, 2, 3], [2, 3, 4])).toBe(0.5)
    expect(jaccard([], [])).toBe(1)
    expect(turnover([1, 2], [2, 3, 4, 5])).toBe(0.75)
    expect(turnover([1], [])).toBe(0)
  })

  const entry = (layer: number, pos: number, heads: number[][]) => ({
    layer,
    pos,
    nMem: heads[0]?.length ?? 0,
    nHeads: heads.length,
    nSets: 1,
    memPos: Int32Array.from(heads.flat()),
  })

  it('leave the local positions out', () => {
    expect(
      heavySets(
        entry(0, 8, [
          [1, 3, 6, 7],
          [0, 2, 6, 7],
        ]),
        2,
      ),
    ).toEqual([
      [
        [1, 3],
        [0, 2],
      ],
    ])
  })

  it('turn over from chunk to chunk, per layer', () => {
    const trace = [
      entry(0, 0, [[], []]),
      entry(0, 4, [
        [0, 1, 2, 3],
        [0, 1, 2, 3],
      ]),
      entry(0, 8, [
        [0, 4, 6, 7],
        [0, 1, 6, 7],
      ]),
      entry(1, 4, [
        [0, 1, 2, 3],
        [0, 1, 2, 3],
      ]),
      entry(1, 8, [
        [4, 5, 6, 7],
        [4, 5, 6, 7],
      ]),
    ]
    expect(turnovers(trace, { S: 4, local: 2 })).toEqual([
      { layer: 0, chunk: 2, turnover: 0.25 },
      { layer: 1, chunk: 2, turnover: 1 },
    ])
    expect(leastAlike(trace, trace)).toEqual({ least: 1, sets: 10 })
    expect(leastAlike(trace.slice(1, 2), trace.slice(4)).least).toBe(0)
  })

  it('turn over from block to block, where a chunk has a set for each', () => {
    const blocks = (pos: number, sets: number[][][]) => ({
      ...entry(0, pos, sets[0] as number[][]),
      nSets: sets.length,
      memPos: Int32Array.from(sets.flat(2)),
    })
    // two sets of two heads each
    const trace = [
      blocks(8, [
        [
          [0, 1],
          [0, 1],
        ],
        [
          [0, 1],
          [2, 3],
        ],
      ]),
      blocks(12, [
        [
          [0, 2],
          [2, 3],
        ],
        [
          [0, 2],
          [2, 3],
        ],
      ]),
    ]
    expect(turnovers(trace, { S: 4, local: 2 })).toEqual([
      { layer: 0, chunk: 2, turnover: 0.5 },
      { layer: 0, chunk: 3, turnover: 0.125 },
    ])
    expect(leastAlike(trace, trace)).toEqual({ least: 1, sets: 8 })
  })
})
