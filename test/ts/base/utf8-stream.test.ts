import { describe, expect, it } from 'vitest'
import { Utf8Stream } from '../../../src/ts/utf8-stream.js'

const text = 'a£€😀é\u{1F469}\u200D\u{1F680}\uFEFFz'

describe('Utf8Stream', () => {
  it.each([1, 2, 3, 5])('gives whole characters for pieces of %i bytes', (size) => {
    const bytes = new TextEncoder().encode(text)
    const stream = new Utf8Stream()
    const pieces: string[] = []
    for (let i = 0; i < bytes.length; i += size) pieces.push(stream.push(bytes.subarray(i, i + size)))
    pieces.push(stream.flush())
    expect(pieces.join('')).toBe(text)
    // no piece ends in half of a surrogate pair
    for (const piece of pieces) expect(piece).not.toMatch(/[\ud800-\udbff]$/)
    expect(pieces.join('')).not.toContain('\uFFFD')
  })

  it('keeps a byte order mark at the start', () => {
    expect(new Utf8Stream().push(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41))).toBe('\uFEFFA')
  })

  it('gives U+FFFD for what is left over, once', () => {
    const stream = new Utf8Stream()
    expect(stream.push(Uint8Array.of(0x41, 0xf0, 0x9f))).toBe('A')
    expect(stream.flush()).toBe('\uFFFD')
    expect(stream.flush()).toBe('')
    expect(stream.push(Uint8Array.of(0x42))).toBe('B')
  })

  it('gives U+FFFD for bytes that can never become a character', () => {
    const stream = new Utf8Stream()
    expect(stream.push(Uint8Array.of(0xff, 0x41))).toBe('\uFFFDA')
    expect(stream.push(Uint8Array.of(0xe2))).toBe('')
    expect(stream.push(Uint8Array.of(0x41))).toBe('\uFFFDA')
  })
})
