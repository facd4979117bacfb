// What `compare` makes of logits, against values worked out by hand and by plainer code.
import { describe, expect, it } from 'vitest'
import { Bins } from '../../../src/ts/cli/compare/bins.js'
import { type Deviation, deviation } from '../../../src/ts/cli/compare/deviation.js'
import { Tally } from '../../../src/ts/cli/compare/tally.js'
import { exponential, Mean, percentage, percentile } from '../../../src/ts/cli/statistics.js'
import { Random } from '../../../src/ts/model-maker/index.js'

const logs = (...p: number[]) => Float32Array.from(p, Math.log)

describe('deviation', () => {
  it('is what the definitions say', () => {
    const dense = logs(0.5, 0.25, 0.125, 0.125)
    const sparse = logs(0.25, 0.5, 0.125, 0.125)
    const found = deviation(dense, sparse, 0, 4, 1)
    expect(found.nllDense).toBeCloseTo(Math.log(4), 6)
    expect(found.nll).toBeCloseTo(Math.log(2), 6)
    // 0.5 ln 2 + 0.25 ln 0.5
    expect(found.kld).toBeCloseTo(0.25 * Math.log(2), 6)
    expect(found.sameTop).toBe(false)
  })

  it('does not change with a constant added to a row, however large', () => {
    const dense = Float32Array.of(1, 2, 4)
    const shifted = dense.map((x) => x + 65536)
    const same = { ...deviation(dense, dense, 0, 3, 2), identical: false }
    expect(deviation(dense, shifted, 0, 3, 2)).toEqual(same)
  })

  it('is exactly nothing for equal rows', () => {
    const random = new Random(1, 'logits')
    const row = Float32Array.from({ length: 1000 }, () => 20 * random.uniform())
    const { nll, nllDense, kld, sameTop, identical } = deviation(row, row.slice(), 0, 1000, 7)
    expect(nll).toBe(nllDense)
    expect([kld, sameTop, identical]).toEqual([0, true, true])
  })

  it('equals a plain softmax in float64, in any row', () => {
    const random = new Random(2, 'logits')
    const [nVocab, nRows] = [97, 5]
    const logits = () => Float32Array.from({ length: nVocab * nRows }, () => 12 * random.uniform() - 6)
    const [dense, sparse] = [logits(), logits()]
    for (let row = 0; row < nRows; row++) {
      const softmax = (values: Float32Array) => {
        const weights = [...values.subarray(row * nVocab, (row + 1) * nVocab)].map(Math.exp)
        const sum = weights.reduce((a, b) => a + b, 0)
        return weights.map((w) => w / sum)
      }
      const [p, q] = [softmax(dense), softmax(sparse)]
      const target = 13 * row
      const found = deviation(dense, sparse, row * nVocab, nVocab, target)
      expect(found.nll).toBeCloseTo(-Math.log(q[target] as number), 12)
      expect(found.nllDense).toBeCloseTo(-Math.log(p[target] as number), 12)
      expect(found.kld).toBeCloseTo(
        p.reduce((sum, x, i) => sum + x * Math.log(x / (q[i] as number)), 0),
        12,
      )
      expect(found.sameTop).toBe(p.indexOf(Math.max(...p)) === q.indexOf(Math.max(...q)))
    }
  })

  it('takes an excluded token as one of no weight, unless the dense row wants it', () => {
    const excluded = Float32Array.of(0, 0, Number.NEGATIVE_INFINITY)
    expect(deviation(excluded, Float32Array.of(0, 0, 0), 0, 3, 0).kld).toBeCloseTo(Math.log(1.5), 12)
    expect(deviation(Float32Array.of(0, 0, 0), excluded, 0, 3, 0).kld).toBe(Number.POSITIVE_INFINITY)
  })

  it('does not hide NaN', () => {
    const found = deviation(Float32Array.of(0, 1), Float32Array.of(Number.NaN, 1), 0, 2, 1)
    expect([found.nll, found.kld, found.sameTop]).toEqual([Number.NaN, Number.NaN, false])
  })
})

describe('statistics', () => {
  it('has the mean and its uncertainty as llama-perplexity computes them', () => {
    const values = Array.from({ length: 50 }, (_, i) => Math.sin(i) + 1000)
    const mean = new Mean()
    for (const value of values) mean.add(value)
    const average = values.reduce((a, b) => a + b, 0) / 50
    const variance = values.reduce((sum, x) => sum + (x - average) ** 2, 0) / 50
    expect(mean.estimate.value).toBeCloseTo(average, 9)
    expect(mean.estimate.uncertainty).toBeCloseTo(Math.sqrt(variance / 49), 12)
  })

  it('gives no uncertainty of ten values', () => {
    const mean = new Mean()
    for (let i = 0; i < 10; i++) mean.add(i)
    expect(mean.estimate).toEqual({ value: 4.5, uncertainty: 0 })
  })

  it('carries the uncertainty through exp', () => {
    const { value, uncertainty } = exponential({ value: Math.log(8), uncertainty: 0.25 })
    expect([value, uncertainty]).toEqual([expect.closeTo(8, 12), expect.closeTo(2, 12)])
  })

  it('has shares in per cent', () => {
    expect(percentage(3, 5)).toEqual({
      value: expect.closeTo(60, 12),
      uncertainty: expect.closeTo(100 * Math.sqrt((0.6 * 0.4) / 4), 12),
    })
    expect(percentage(1, 1)).toEqual({ value: 100, uncertainty: 0 })
  })

  it.each([
    [[1, 2, 3, 4], 0.5, 2.5],
    [[1, 2, 3], 0.5, 2],
    [[0, 10], 0.9, 9],
    [[5], 0.99, 5],
    [[1, 2], 1, 2],
    [[1, 2], 0, 1],
    [[0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY], 0.75, Number.POSITIVE_INFINITY],
  ])('percentile of %j at %d is %d', (sorted, fraction, expected) => {
    expect(percentile(sorted, fraction)).toBeCloseTo(expected, 12)
  })
})

const of = (nll: number, nllDense: number, kld = 0, sameTop = true): Deviation => ({
  nll,
  nllDense,
  kld,
  sameTop,
  identical: false,
})

describe('Tally', () => {
  it('has no figures of nothing', () => {
    expect(new Tally().figures()).toBeNull()
  })

  it('puts them together', () => {
    const tally = new Tally()
    tally.add(of(1, 2, 0.5))
    tally.add(of(3, 2, 0.1, false))
    tally.add(of(5, 2, 0.3))
    expect(tally.figures()).toMatchObject({
      n: 3,
      ppl: { value: expect.closeTo(Math.exp(3), 9) },
      ppl_dense: { value: expect.closeTo(Math.exp(2), 9) },
      ppl_ratio: { value: expect.closeTo(Math.E, 9) },
      ln_ppl_ratio: { value: expect.closeTo(1, 12) },
      kld: { mean: { value: expect.closeTo(0.3, 12) }, max: 0.5, median: 0.3, min: 0.1 },
      same_top_percent: { value: expect.closeTo(66.667, 2) },
    })
  })

  it('judges the ratio token by token: losses that always come together are certain', () => {
    const tally = new Tally()
    for (let i = 0; i < 20; i++) tally.add(of(i + 0.5, i))
    const { ppl, ppl_ratio } = tally.figures() ?? {}
    expect(ppl?.uncertainty).toBeGreaterThan(100)
    expect(ppl_ratio).toEqual({ value: expect.closeTo(Math.exp(0.5), 12), uncertainty: 0 })
  })
})

describe('Bins', () => {
  const filled = (begin: number, end: number) => {
    const bins = new Bins(begin, end)
    for (let i = begin; i < end; i++) bins.add(i, of(i, 0))
    return bins.figures()
  }

  it('covers every position once, in eight parts of about the same size', () => {
    const found = filled(5, 105)
    expect(found).toHaveLength(8)
    expect(found.map(({ from, to }) => to - from + 1)).toEqual(found.map(({ n }) => n))
    expect(found.map(({ n }) => n)).toEqual([13, 12, 13, 12, 13, 12, 13, 12])
    expect([found[0]?.from, found[7]?.to]).toEqual([5, 104])
  })

  it('has one per position where there are few, and none without any', () => {
    expect(filled(0, 3).map(({ from, to }) => [from, to])).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ])
    expect(new Bins(0, 8).figures()).toEqual([])
  })
})
