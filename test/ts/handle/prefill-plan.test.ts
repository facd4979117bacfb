import { describe, expect, it } from 'vitest'
import { planPrefill } from '../../../src/ts/index.js'

describe('planPrefill', () => {
  it.each([
    { n: 8692, b: 4096, s: 1024, calls: [4096, 3072, 1524] },
    { n: 12000, b: 4096, s: 1024, calls: [4096, 4096, 3808] },
    { n: 4096, b: 4096, s: 1024, calls: [4096] },
    { n: 4097, b: 4096, s: 1024, calls: [3072, 1025] },
    { n: 5120, b: 4096, s: 1024, calls: [3072, 2048] },
    { n: 5121, b: 4096, s: 1024, calls: [4096, 1025] },
    { n: 500, b: 4096, s: 1024, calls: [500] },
    { n: 1, b: 4096, s: 1024, calls: [1] },
    { n: 0, b: 4096, s: 1024, calls: [] },
    // two chunks to a call: a short rest cannot be avoided
    { n: 2100, b: 2048, s: 1024, calls: [2048, 52] },
    // one chunk to a call, or less: H2O never runs
    { n: 1100, b: 512, s: 512, calls: [512, 512, 76] },
    { n: 1100, b: 512, s: 1024, calls: [512, 512, 76] },
    // a batch that the context cut short
    { n: 3072, b: 3072, s: 1024, calls: [3072] },
    { n: 3000, b: 3000, s: 1024, calls: [3000] },
  ])('cuts $n at -b $b -ub $s', ({ n, b, s, calls }) => {
    expect(planPrefill(n, b, s, true)).toEqual(calls)
  })

  it('cuts like stock when H2O is off', () => {
    expect(planPrefill(8692, 4096, 1024, false)).toEqual([4096, 4096, 500])
  })

  it.each([
    { n: 8692, tail: 500, calls: [4096, 4096, 500] },
    { n: 8692, tail: 2048, calls: [4096, 2548, 1024, 1024] },
    { n: 5000, tail: 1025, calls: [3975, 1024, 1] },
    { n: 1500, tail: 600, calls: [900, 600] },
    { n: 700, tail: 700, calls: [700] },
    { n: 700, tail: 5000, calls: [700] },
    { n: 1500, tail: 0, calls: [1500] },
  ])('leaves a dense tail of $tail of $n', ({ n, tail, calls }) => {
    expect(planPrefill(n, 4096, 1024, true, tail)).toEqual(calls)
    expect(planPrefill(n, 4096, 1024, false, tail)).toEqual(planPrefill(n, 4096, 1024, false))
  })

  it('keeps its promises for every length', () => {
    for (const [b, s] of [
      [192, 64],
      [256, 64],
      [512, 64],
    ] as const) {
      for (let n = 1; n <= 4 * b; n++) {
        const calls = planPrefill(n, b, s, true)
        expect(calls.reduce((sum, call) => sum + call, 0)).toBe(n)
        expect(Math.max(...calls)).toBeLessThanOrEqual(b)
        expect(calls.slice(0, -1).every((call) => call % s === 0)).toBe(true)
        if (n > s) expect(calls.at(-1)).toBeGreaterThan(s)
      }
    }
  })

  it.each([
    [100, 0, 512],
    [100, 512, 0],
    [100, 512, undefined],
    [-1, 512, 512],
    [1.5, 512, 512],
    [100, Number.NaN, 512],
    [100, 1024, 512, -1],
  ])('refuses %s tokens in calls of %s and chunks of %s', (n, nBatch, nUbatch, tail = 0) => {
    expect(() => planPrefill(n, nBatch, nUbatch as number, true, tail)).toThrow(
      expect.objectContaining({ code: 'ERR_H2O_INVALID_ARGUMENT' }),
    )
  })

  it('goes on after an interruption as it would have without', () => {
    for (let n = 1; n <= 2000; n += 7) {
      const calls = planPrefill(n, 256, 64, true)
      let rest = n
      for (let i = 0; i < calls.length; i++) {
        expect(planPrefill(rest, 256, 64, true)).toEqual(calls.slice(i))
        rest -= calls[i] as number
      }
    }
  })
})
