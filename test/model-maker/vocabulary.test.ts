import { describe, expect, it } from 'vitest'
import { BOS_TOKEN, byteTokens, demoText, EOS_TOKEN, makeModel } from '../../src/ts/model-maker/index.js'

describe('the vocabulary', () => {
  const { metadata } = makeModel({ arch: 'llama', vocab: 300, addBos: true })
  const value = (key: string) => metadata[`tokenizer.ggml.${key}`]?.value
  const tokens = value('tokens') as string[]
  const types = value('token_type') as number[]

  it("maps every byte to GPT-2's character for it, at its own index", () => {
    expect(tokens.slice(0x21, 0x7f).join('')).toBe(
      '!"#$%&\'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~',
    )
    expect([tokens[0], tokens[10], tokens[32], tokens[127], tokens[0xa0], tokens[0xad]]).toEqual(
      ['Ā', 'Ċ', 'Ġ', 'ġ', 'ł', 'Ń'], // U+0100, 010A, 0120, 0121, 0142, 0143
    )
    expect([tokens[0xa1], tokens[0xff]]).toEqual(['¡', 'ÿ'])
    expect(new Set(tokens).size).toBe(300)
    expect(types.slice(0, 256).every((type) => type === 1)).toBe(true)
  })

  it('has BOS and EOS as control tokens, the rest unused, and no merges', () => {
    expect([value('bos_token_id'), value('eos_token_id')]).toEqual([BOS_TOKEN, EOS_TOKEN])
    expect(types.slice(256)).toEqual([3, 3, ...Array(42).fill(5)])
    expect(value('merges')).toEqual([])
    expect(value('add_bos_token')).toBe(true)
    expect(makeModel({ arch: 'llama' }).metadata['tokenizer.ggml.add_bos_token']?.value).toBe(false)
  })

  it('tokenizes text to its UTF-8 bytes', () => {
    expect(Array.from(byteTokens('Aé😀'))).toEqual([0x41, 0xc3, 0xa9, 0xf0, 0x9f, 0x98, 0x80])
  })
})

describe('demoText', () => {
  it.each([0, 1, 999, 12000])('gives exactly %i printable characters', (length) => {
    const text = demoText(length)
    expect(text.length).toBe(length)
    expect(byteTokens(text).length).toBe(length)
    expect(text).toMatch(/^[\n -~]*$/)
  })

  it('repeats with its seed, and a shorter text is the beginning of a longer one', () => {
    expect(demoText(3000, 7)).toBe(demoText(3000, 7))
    expect(demoText(3000, 7)).not.toBe(demoText(3000, 8))
    expect(demoText(3000, 7).startsWith(demoText(500, 7))).toBe(true)
  })

  it('does not go round in circles', () => {
    const sentences = demoText(20000).split('. ')
    expect(new Set(sentences).size / sentences.length).toBeGreaterThan(0.95)
  })

  it('refuses a length that is none', () => {
    expect(() => demoText(-1)).toThrow(RangeError)
  })
})
