// KL divergence from what is kept of a distribution: that of all of it, where few tokens have nearly all.

import { expect, it } from 'vitest'
import { divergence, headOf } from '../../bench/language/divergence.mjs'

const logits = (n: number, of: (i: number) => number) => Float32Array.from({ length: n }, (_, i) => of(i))

function klOfAll(dense: Float32Array, other: Float32Array): number {
  const shares = (x: Float32Array) => {
    const weights = Array.from(x, Math.exp)
    const sum = weights.reduce((a, b) => a + b)
    return weights.map((weight) => weight / sum)
  }
  const [p, q] = [shares(dense), shares(other)]
  return p.reduce((sum, share, i) => sum + share * Math.log(share / (q[i] as number)), 0)
}

it('keeps the likeliest tokens', () => {
  const { ids, logs } = headOf(logits(1000, (i) => (i % 100 === 7 ? 5 : -i / 1000)))
  expect(ids).toHaveLength(64)
  expect(ids).toEqual(expect.arrayContaining([7, 107, 907]))
  expect(logs[ids.indexOf(7)]).toBeGreaterThan(logs[ids.indexOf(0)] as number)
})

it('keeps those before others that tie', () => {
  const { ids } = headOf(logits(100, (i) => (i < 90 ? 0 : 1)))
  expect(ids).toHaveLength(64)
  expect(ids).toEqual(expect.arrayContaining([90, 91, 92, 93, 94, 95, 96, 97, 98, 99]))
})

it('is nothing from itself, and that of all tokens where few matter', () => {
  const dense = logits(5000, (i) => 12 * Math.sin(i * i))
  const other = logits(5000, (i) => 12 * Math.sin(i * i) + Math.cos(3 * i))
  const peaked = logits(5000, (i) => (i < 10 ? 12 - i : -20))
  const moved = logits(5000, (i) => (i < 10 ? 12 - 1.3 * i : -20))
  expect(divergence(headOf(dense), dense)).toBeCloseTo(0, 6)
  expect(divergence(headOf(peaked), moved)).toBeCloseTo(klOfAll(peaked, moved), 6)
  const kept = divergence(headOf(dense), other)
  expect(kept).toBeGreaterThan(0)
  expect(kept).toBeLessThan(klOfAll(dense, other))
})

it('knows a vocabulary of fewer tokens, ties, and what is impossible', () => {
  const dense = Float32Array.of(0, 0, -Infinity)
  expect(divergence(headOf(dense), dense)).toBeCloseTo(0, 6)
  expect(divergence(headOf(dense), Float32Array.of(1, 0, 0))).toBeCloseTo(
    klOfAll(Float32Array.of(0, 0), Float32Array.of(1, 0)) + Math.log((Math.E + 2) / (Math.E + 1)),
    5,
  )
})
