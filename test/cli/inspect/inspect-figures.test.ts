// The figures of `inspect` and its pictures, on sets and masses small enough to be counted by hand.
import { inflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { chartSvg } from '../../../src/ts/cli/inspect/chart.js'
import { Columns } from '../../../src/ts/cli/inspect/columns.js'
import { coverage } from '../../../src/ts/cli/inspect/coverage.js'
import { kindRow, kinds } from '../../../src/ts/cli/inspect/kinds.js'
import { heatIndices, heatPalette, kindIndices, kindPalette } from '../../../src/ts/cli/inspect/palette.js'
import { encodePng, type Rgb } from '../../../src/ts/cli/inspect/png.js'
import { Recording } from '../../../src/ts/cli/inspect/recording.js'
import {
  heavyOf,
  intersection,
  jaccard,
  meanPairJaccard,
  turnover,
} from '../../../src/ts/cli/inspect/sets.js'
import { layerFigures } from '../../../src/ts/cli/inspect/summary.js'
import { mean } from '../../../src/ts/cli/statistics.js'
import type { H2oTraceEntry } from '../../../src/ts/index.js'

const set = (...positions: number[]) => Int32Array.from(positions)

describe('sets', () => {
  it('Heavy is what lies before Local', () => {
    expect(heavyOf(set(0, 3, 6, 7), 8, 2)).toEqual(set(0, 3))
    expect(heavyOf(set(0, 3, 6, 7), 8, 0)).toEqual(set(0, 3, 6, 7))
    expect(heavyOf(set(0, 1), 2, 5)).toEqual(set())
  })

  it('overlap', () => {
    expect(intersection(set(0, 2, 4, 9), set(1, 2, 3, 9, 10))).toBe(2)
    expect(jaccard(set(1, 2, 3), set(2, 3, 4))).toBe(0.5)
    expect(jaccard(set(1, 2), set(1, 2))).toBe(1)
    expect(jaccard(set(1), set(2))).toBe(0)
    expect(jaccard(set(), set(2))).toBe(0)
    expect(jaccard(set(), set())).toBeNull()
  })

  it('overlap of all pairs', () => {
    expect(meanPairJaccard([set(1, 2), set(1, 2), set(2, 3)])).toBeCloseTo((1 + 1 / 3 + 1 / 3) / 3, 12)
    expect(meanPairJaccard([set(1)])).toBeNull()
    expect(meanPairJaccard([set(), set()])).toBeNull()
  })

  it('turnover is the share that left', () => {
    expect(turnover(set(0, 1, 2, 3), set(0, 1, 8, 9))).toBe(0.5)
    expect(turnover(set(0, 1), set(0, 1, 2, 3))).toBe(0)
    expect(turnover(set(0, 1, 2, 3), set(0))).toBe(0.75)
    expect(turnover(set(), set(1))).toBeNull()
  })

  it('a mean leaves out what is not there', () => {
    expect(mean([1, null, 3])).toBe(2)
    expect(mean([null])).toBeNull()
  })
})

describe('coverage', () => {
  // positions   0  1  2  3  4  5 | 6  7; the chunk begins at 6
  const mass = Float32Array.of(8, 1, 2, 1, 3, 1, 2, 2)

  it('shares what dense attention sees out to where it falls', () => {
    const shares = coverage(mass, 6, set(0, 3, 5), { local: 2, nSink: 2 })
    expect(shares).toEqual({
      own: 4 / 20,
      local: 1 / 20,
      heavy: 9 / 20,
      lost: expect.closeTo(6 / 20, 12),
      coverage: 14 / 20,
      oracle: expect.closeTo((4 + 8 + 3 + 2) / 20, 12),
      sink: 9 / 20,
    })
  })

  it('is all where nothing is left out, and the chunk alone where nothing is kept', () => {
    const all = coverage(mass, 6, set(0, 1, 2, 3, 4, 5), { local: 6, nSink: 0 })
    expect(all).toMatchObject({ coverage: 1, oracle: 1, lost: 0, heavy: 0, local: 16 / 20, sink: 0 })
    const none = coverage(mass, 6, set(), { local: 2, nSink: 100 })
    expect(none).toMatchObject({ own: 0.2, coverage: 0.2, oracle: 0.2, lost: 0.8, sink: 1 })
  })

  it('no set of the size covers more than the oracle', () => {
    for (const memory of [set(0, 1), set(4, 5), set(0, 4), set(2, 3)]) {
      const shares = coverage(mass, 6, memory, { local: 1, nSink: 1 })
      expect(shares.coverage).toBeLessThanOrEqual(shares.oracle)
      expect(shares.own + shares.local + shares.heavy + shares.lost).toBeCloseTo(1, 12)
    }
  })
})

describe('columns', () => {
  it('are positions where these are few', () => {
    const columns = new Columns(5, 256)
    expect(columns.count).toBe(5)
    expect([0, 4].map((position) => columns.of(position))).toEqual([0, 4])
  })

  it('hold every position once where they are many', () => {
    const columns = new Columns(1000, 7)
    const sizes = Array.from({ length: 7 }, (_, column) => columns.size(column))
    expect(sizes.reduce((a, b) => a + b)).toBe(1000)
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
    for (let position = 0; position < 1000; position++) {
      const column = columns.of(position)
      expect(columns.begin(column)).toBeLessThanOrEqual(position)
      expect(columns.begin(column + 1)).toBeGreaterThan(position)
    }
  })

  it('keep the largest value', () => {
    const row = new Columns(6, 3).largest([0, 1, 4], (position) => [3, 5, 0, 0, -1, 0][position] as number)
    expect([...row]).toEqual([5, Number.NaN, -1])
  })
})

describe('what is seen', () => {
  it('column by column', () => {
    const row = kindRow(new Columns(12, 6), 2, {
      pos: 6,
      n: 4,
      memory: set(0, 2, 3, 4, 5),
      before: set(0, 3),
    })
    expect([...row.kind].map((kind) => kinds[kind] ?? '')).toEqual([
      'heavyKept',
      'heavyNew',
      'local',
      'own',
      'own',
      '',
    ])
    expect([...row.share]).toEqual([0.5, 1, 1, 1, 1, 0])
    expect(row.end).toBe(5)
  })

  it('all Heavy is new to the first memory', () => {
    const row = kindRow(new Columns(8, 8), 1, { pos: 4, n: 4, memory: set(0, 1, 3), before: null })
    expect([...row.kind]).toEqual([2, 2, -1, 1, 0, 0, 0, 0])
  })

  it('has a colour of its own for each kind, and for nothing and later', () => {
    const kind = Int8Array.of(-1, 0, 1, 2, 3, -1)
    const share = Float32Array.of(0, 1, 1, 1, 1, 0)
    const indices = kindIndices({ kind, share, end: 5 })
    expect(new Set(indices).size).toBe(6)
    expect(indices[5]).toBe(1)
    for (const index of indices) expect(kindPalette[index]).toBeDefined()
    const pale = kindIndices({ kind, share: share.map((value) => value / 100), end: 5 })
    for (const i of [1, 2, 3, 4]) expect(pale[i]).toBe((indices[i] as number) - 15)
  })
})

describe('heat', () => {
  it('is logarithmic, from a ten thousandth of the largest on', () => {
    const row = Float32Array.of(100, 1, 0.01, 1e-9, 0, Number.NaN, 100)
    const [indices] = heatIndices([row], [6], 100)
    expect([...(indices as Uint8Array)]).toEqual([65, 34, 2, 2, 2, 0, 1])
    expect(heatPalette).toHaveLength(66)
  })
})

describe('PNG', () => {
  it('holds the rows and the palette', () => {
    const palette: Rgb[] = [
      [0, 0, 0],
      [255, 128, 1],
    ]
    const png = encodePng([Uint8Array.of(0, 1, 0), Uint8Array.of(1, 1, 1)], palette)
    expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
    const parts = new Map<string, Buffer>()
    for (let at = 8; at < png.length; ) {
      const n = png.readUInt32BE(at)
      parts.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + n))
      at += 12 + n
    }
    expect([...parts.keys()]).toEqual(['IHDR', 'PLTE', 'IDAT', 'IEND'])
    expect([...(parts.get('IHDR') ?? [])]).toEqual([0, 0, 0, 3, 0, 0, 0, 2, 8, 3, 0, 0, 0])
    expect([...(parts.get('PLTE') ?? [])]).toEqual(palette.flat())
    expect([...inflateSync(parts.get('IDAT') as Buffer)]).toEqual([0, 0, 1, 0, 0, 1, 1, 1])
    // the empty IEND's checksum is the same in every PNG
    expect(png.subarray(-4).toString('hex')).toBe('ae426082')
  })
})

describe('charts', () => {
  it('leave a gap where there is nothing', () => {
    const svg = chartSvg({
      title: 'a <b>',
      lines: [{ label: 'one', colour: 'red', values: [null, 0.5, 1, null, 0] }],
      from: 'x',
      to: 'y',
    })
    expect(svg.match(/<polyline/g)).toHaveLength(1)
    expect(svg.match(/<circle/g)).toHaveLength(1)
    expect(svg).toContain('a &lt;b&gt;')
  })

  it('pile areas up', () => {
    const svg = chartSvg({
      title: '',
      areas: [
        { label: 'low', colour: 'red', values: [0.25, 0.5] },
        { label: 'high', colour: 'blue', values: [0.75, 0.5] },
      ],
      from: '',
      to: '',
    })
    const [low, high] = [...svg.matchAll(/points="([^"]*)"/g)].map((match) => match[1]?.split(' ') ?? [])
    expect(high?.slice(2)).toEqual(low?.slice(0, 2).reverse())
    expect(high?.[0]).toMatch(/,6\.0$/)
  })
})

describe('a recording', () => {
  const entry = (pos: number, memory: number[][], layer = 0): H2oTraceEntry => {
    const nMem = memory[0]?.length ?? 0
    const nHeads = memory.length
    return {
      layer,
      pos,
      nChunk: 4,
      nHeads,
      nNear: 0,
      nSets: nMem > 0 ? 1 : 0,
      order: new Int32Array(),
      nMem,
      memPos: Int32Array.from(memory.flat()),
      memScore: Float32Array.from(memory.flat(), (position) => 10 + position),
      chunkScore: Float32Array.from({ length: 4 * nHeads }, (_, i) => i),
      mass: Float32Array.from({ length: (pos + 4) * nHeads }, (_, i) => (i < pos + 4 ? 1 : 2)),
    }
  }
  const recordingOf = (...entries: H2oTraceEntry[]) => {
    const recording = new Recording({ local: 1, nSink: 1, columns: new Columns(12, 12) })
    recording.add(entries)
    return recording
  }

  it('keeps heads and chunks apart', () => {
    const { layers } = recordingOf(
      entry(0, [[], []]),
      entry(4, [
        [0, 1, 3],
        [1, 2, 3],
      ]),
      entry(8, [
        [0, 5, 7],
        [1, 2, 7],
      ]),
    )
    const [first, second] = layers[0]?.heads ?? []
    expect(first?.map(({ pos, n, sets }) => [pos, n, sets])).toEqual([
      [0, 4, []],
      [4, 4, [set(0, 1, 3)]],
      [8, 4, [set(0, 5, 7)]],
    ])
    expect(first?.map(({ heavyTurnover }) => heavyTurnover)).toEqual([null, null, 0.5])
    expect(second?.map(({ heavyTurnover }) => heavyTurnover)).toEqual([null, null, 0])
    expect(first?.map(({ chunkJaccard }) => chunkJaccard)).toEqual([null, null, 0.2])
    expect(second?.[1]?.shares).toMatchObject({ own: 0.5, coverage: 7 / 8, sink: 1 / 8 })
    expect([...(second?.[1]?.rows.score ?? [])].slice(0, 8)).toEqual([Number.NaN, 11, 12, 13, 4, 5, 6, 7])
    expect(second?.[1]?.rows.mass[0]).toBe(0.125)
    expect(second?.[1]?.rows.mass[8]).toBe(Number.NaN)
  })

  it('makes means of chunks with a memory, and finds the least overlap of runs', () => {
    const recording = recordingOf(
      entry(0, [[], []]),
      entry(4, [
        [0, 1, 3],
        [1, 2, 3],
      ]),
    )
    const heads = recording.layers[0]?.heads ?? []
    expect(layerFigures(heads, 1)).toMatchObject({
      own: 0.5,
      coverage: 7 / 8,
      headJaccard: 1 / 3,
      headMemoryJaccard: 0.5,
      heavyTurnover: null,
      runJaccard: null,
    })
    const same = entry(4, [
      [0, 1, 3],
      [1, 2, 3],
    ])
    recording.compare([entry(0, [[], []]), same])
    expect(layerFigures(heads, 1).runJaccard).toBe(1)
    const other = entry(4, [
      [0, 1, 3],
      [0, 2, 3],
    ])
    recording.compare([other])
    recording.compare([same])
    expect(heads.map((chunks) => chunks[1]?.runJaccard)).toEqual([1, 0.5])
    expect(layerFigures(heads, 1).runJaccard).toBe(0.5)
  })

  /** One head, blocks of 64 and 32 queries with a set each, the first of these last; Local attended to beside them. */
  const blocks = (pos: number, memory: number[][], mass: number[][]): H2oTraceEntry => ({
    layer: 0,
    pos,
    nChunk: 96,
    nHeads: 1,
    nNear: 2,
    nSets: memory.length,
    order: Int32Array.from({ length: 96 }, (_, i) => (i + 32) % 96),
    nMem: memory[0]?.length ?? 0,
    memPos: Int32Array.from(memory.flat()),
    memScore: new Float32Array(),
    chunkScore: new Float32Array(),
    mass: Float32Array.from(mass.flat()),
  })
  const massOf = (before: number[], own: number) => [...before, ...Array(96).fill(own / 96)]

  it('holds each block of queries against what it could have chosen', () => {
    const recording = new Recording({ local: 2, nSink: 1, columns: new Columns(102, 102) })
    // candidates are 0 to 3, Local is 4 and 5; 100 in all for each block
    const masses = [massOf([10, 0, 20, 0, 5, 5], 60), massOf([0, 40, 0, 10, 0, 10], 40)]
    recording.add([blocks(6, [[0], [1]], masses)])
    const [chunk] = recording.layers[0]?.heads[0] ?? []
    expect(chunk?.sets).toEqual([set(0), set(1)])
    expect(chunk?.seen).toEqual(set(0, 1, 4, 5))
    const mean = (first: number, second: number) => expect.closeTo((2 * first + second) / 3, 6)
    expect(chunk?.shares).toEqual({
      own: mean(0.6, 0.4),
      local: mean(0.1, 0.1),
      heavy: mean(0.1, 0.4),
      lost: mean(0.2, 0.1),
      coverage: mean(0.8, 0.9),
      oracle: mean(0.9, 0.9),
      sink: mean(0.1, 0),
    })
    expect([chunk?.heavyTurnover, chunk?.chunkJaccard, chunk?.rows.score]).toEqual([null, null, null])
    recording.compare([blocks(6, [[0], [3]], masses)])
    expect(chunk?.runJaccard).toBe(0)
  })

  it('compares chunks and heads by the sets of all blocks, in whatever order these come', () => {
    const recording = new Recording({ local: 2, nSink: 1, columns: new Columns(300, 300) })
    const masses = (n: number) => [massOf(Array(n).fill(1), 60), massOf(Array(n).fill(1), 60)]
    recording.add([
      blocks(6, [[0], [3]], masses(6)),
      blocks(102, [[3], [0]], masses(102)),
      blocks(198, [[3], [90]], masses(198)),
    ])
    const chunks = recording.layers[0]?.heads[0] ?? []
    expect(chunks.map(({ heavyTurnover }) => heavyTurnover)).toEqual([null, 0, 0.5])
    expect(chunks.map(({ chunkJaccard }) => chunkJaccard)).toEqual([null, 1, 1 / 3])
    const [first, second, third] = chunks.map((chunk) => [chunk])
    const headJaccard = (...heads: ((typeof chunks)[number][] | undefined)[]) =>
      layerFigures(
        heads.map((head) => head ?? []),
        2,
      ).headJaccard
    expect([headJaccard(first, second), headJaccard(second, third)]).toEqual([1, 1 / 3])
  })
})
