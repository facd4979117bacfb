/** Long texts in slices: characters that two of them share stay whole. */

import { expect, it } from 'vitest'
import { decodeInTurns, slicesOf } from '../../../src/ts/decode-in-turns.js'

it.each([0, 1, 2, 3])('gives the text, whatever slices cut: %i bytes before', async (before) => {
  const text = 'a'.repeat(before) + '😀é'.repeat(2 ** 19) + 'b'.repeat(before)
  const bytes = Buffer.from(text)
  expect([...slicesOf(bytes)].length).toBeGreaterThan(2)
  expect((await decodeInTurns(slicesOf(bytes))) === text).toBe(true)
})

it('has U+FFFD for what is no UTF-8, as Buffer has it', async () => {
  for (const bytes of [Buffer.alloc(0), Buffer.from([0x61, 0xc3]), Buffer.from([0xff, 0xed, 0xa0, 0x80])]) {
    expect(await decodeInTurns(slicesOf(bytes))).toBe(bytes.toString())
  }
})
