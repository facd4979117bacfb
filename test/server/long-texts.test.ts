/** Texts that take much memory while they become tokens: one after the other. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Model } from '../../src/ts/model.js'
import { tokensOf } from '../../src/ts/server/prompt.js'

/** How many texts at once became tokens, of so many that were asked for. */
async function mostAtOnce(text: string, n: number): Promise<number> {
  let [now, most] = [0, 0]
  const tokenizeAsync = async () => {
    most = Math.max(most, ++now)
    await nextTurn()
    now--
    return Int32Array.of(1)
  }
  const model = { tokenizeAsync } as unknown as Model
  const { signal } = new AbortController()
  await Promise.all(Array.from({ length: n }, () => tokensOf(text, { model }, signal)))
  return most
}

it('long ones wait for each other, short ones do not', async () => {
  expect(await mostAtOnce('x'.repeat(2 ** 18), 5)).toBe(1)
  expect(await mostAtOnce('x', 5)).toBe(5)
})

it('one that fails, or that nobody waits for any more, lets the next one go on', async () => {
  const model = { tokenizeAsync: () => Promise.reject(new Error('no')) } as unknown as Model
  const text = 'x'.repeat(2 ** 18)
  await expect(tokensOf(text, { model }, new AbortController().signal)).rejects.toThrow('no')
  await expect(tokensOf(text, { model }, AbortSignal.abort(new Error('left')))).rejects.toThrow('left')
  expect(await mostAtOnce(text, 2)).toBe(1)
})
