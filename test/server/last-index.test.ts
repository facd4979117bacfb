import { expect, it } from 'vitest'
import { lastIndex } from '../../src/ts/server/last-index.js'

it('finds what lastIndexOf finds', () => {
  let state = 7
  const random = (n: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 16) % n
  }
  const text = (length: number) => Array.from({ length }, () => 'ab'[random(2)]).join('')
  let found = 0
  for (let i = 0; i < 5000; i++) {
    const whole = text(random(40))
    const part = text(random(8))
    const at = lastIndex(whole, part)
    expect([whole, part, at]).toEqual([whole, part, whole.lastIndexOf(part)])
    if (at >= 0) found++
  }
  expect(found).toBeGreaterThan(1000)
  expect(found).toBeLessThan(4800)
})

it('takes time that grows with the texts alone', () => {
  const n = 2 ** 20
  const began = process.cpuUsage()
  expect(lastIndex('a'.repeat(2 * n), `${'a'.repeat(n)}b`)).toBe(-1)
  expect(lastIndex('a'.repeat(2 * n), `b${'a'.repeat(n)}`)).toBe(-1)
  expect(process.cpuUsage(began).user).toBeLessThan(1e6) // µs, as others use the machine; lastIndexOf takes minutes
})
