import { describe, expect, it } from 'vitest'
import { decode, encode, Random, type TensorType } from '../../src/ts/model-maker/index.js'

const { fround } = Math

/** Normal values of several sizes, with the awkward ones first. */
function samples(count: number): Float32Array {
  const x = new Float32Array(count)
  const random = new Random(5, 'samples')
  for (let i = 0; i < count; i += 32) random.fillNormal(x, i, i + 32, 0, 10 ** ((i / 32) % 9) / 1e5)
  x.set([0, -0, 1, -1, 0.5, -0.5, 1.5, -1.5, 65504, -65504, 65519, 2 ** -24, 2 ** -25, 1.5 * 2 ** -25, 1e-8])
  return x
}

/** Every finite value of a 16-bit float format, by its definition. */
function halves(exponentBits: number, mantissaBits: number): { bits: number; value: number }[] {
  const bias = 2 ** (exponentBits - 1) - 1
  const steps = 2 ** mantissaBits
  return Array.from({ length: (2 ** exponentBits - 1) * steps }, (_, bits) => {
    const exponent = Math.floor(bits / steps)
    const mantissa = bits % steps
    const scale = 2 ** (Math.max(exponent, 1) - bias - mantissaBits)
    return { bits, value: (exponent > 0 ? steps + mantissa : mantissa) * scale }
  })
}

/** The nearest of `all` (ascending) to |x|, ties to the even one. */
function nearest(all: { bits: number; value: number }[], x: number): number {
  const a = Math.abs(x)
  let low = 0
  let high = all.length - 1
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((all[middle]?.value ?? 0) <= a) low = middle
    else high = middle
  }
  const below = a - (all[low]?.value ?? 0)
  const above = (all[high]?.value ?? 0) - a
  const best = below < above ? low : above < below ? high : low % 2 === 0 ? low : high
  return (all[best]?.bits ?? 0) | (x < 0 || Object.is(x, -0) ? 0x8000 : 0)
}

function halvesOf(type: TensorType, x: Float32Array): Uint16Array {
  return new Uint16Array(encode(type, x).buffer)
}

describe('16-bit floats', () => {
  it.each([
    ['f16', 5, 10],
    ['bf16', 8, 7],
  ] as const)('%s is the nearest value, ties to even', (type, exponentBits, mantissaBits) => {
    const all = halves(exponentBits, mantissaBits)
    const x = samples(4096)
    expect(Array.from(halvesOf(type, x))).toEqual(Array.from(x, (v) => nearest(all, v)))
  })

  it.each(['f16', 'bf16'] as const)('%s reads back every value that it can hold', (type) => {
    const bits = Uint16Array.from({ length: 65536 }, (_, i) => i)
    const values = decode(type, new Uint8Array(bits.buffer))
    const again = decode(type, encode(type, values))
    const changed = bits.filter((i) => !Object.is(values[i], again[i]))
    expect(changed).toEqual(new Uint16Array())
    const finite = 2 * (type === 'f16' ? 31 * 1024 : 255 * 128) - 1 // a set takes 0 and -0 for one
    expect(new Set(values).size).toBe(finite + 3) // and two infinities, and NaN
  })

  it('keeps infinities and NaN', () => {
    const x = Float32Array.of(Infinity, -Infinity, NaN, 65520, -1e30)
    expect(Array.from(halvesOf('f16', x))).toEqual([0x7c00, 0xfc00, 0x7e00, 0x7c00, 0xfc00])
    expect(Array.from(decode('bf16', encode('bf16', x))).slice(0, 3)).toEqual([Infinity, -Infinity, NaN])
  })
})

describe('quantised blocks', () => {
  const half = (x: number) => decode('f16', encode('f16', Float32Array.of(x)))[0] as number
  const blocks = (x: Float32Array) =>
    Array.from({ length: x.length / 32 }, (_, b) => Array.from(x.subarray(32 * b, 32 * b + 32)))

  it('q8_0: 34 bytes, scale max|x|/127, values rounded away from zero', () => {
    const x = samples(32 * 512)
    const bytes = encode('q8_0', x)
    expect(bytes.length).toBe(512 * 34)
    const expected = blocks(x).flatMap((block) => {
      const d = fround(Math.max(...block.map(Math.abs)) / 127)
      const q = block.map((v) => {
        const scaled = fround(v * fround(1 / d))
        return Math.sign(scaled) * Math.floor(Math.abs(scaled) + 0.5)
      })
      return q.map((n) => fround(half(d) * n))
    })
    expect(maxDifference(decode('q8_0', bytes), expected)).toBe(0)
  })

  it('q4_0: 18 bytes, scale extreme/-8, first half in the low nibbles', () => {
    const x = samples(32 * 512)
    const bytes = encode('q4_0', x)
    expect(bytes.length).toBe(512 * 18)
    const expected = blocks(x).flatMap((block, b) => {
      const extreme = block.reduce((m, v) => (Math.abs(v) > Math.abs(m) ? v : m), 0)
      const d = fround(extreme / -8)
      return block.map((v, j) => {
        const q = Math.min(15, Math.floor(fround(fround(v * fround(1 / d)) + 8.5)))
        const byte = bytes[18 * b + 2 + (j % 16)] as number
        expect(j < 16 ? byte & 15 : byte >> 4).toBe(q)
        return fround(half(d) * (q - 8))
      })
    })
    expect(maxDifference(decode('q4_0', bytes), expected)).toBe(0)
  })

  it('q4_0 takes the sign of the first of two equal extremes', () => {
    const x = new Float32Array(64)
    x.set([0.5, -4, 4])
    x.set([0.5, 4, -4], 32)
    const y = decode('q4_0', encode('q4_0', x))
    expect([y[1], y[2], y[33], y[34]]).toEqual([-4, 3.5, 4, -3.5])
  })

  it.each([
    'q8_0',
    'q4_0',
  ] as const)('%s: a block of zeros stays zero, a NaN poisons its block only', (type) => {
    const x = new Float32Array(96).fill(1, 64)
    x[40] = NaN
    const y = Array.from(decode(type, encode(type, x)))
    expect(y.slice(0, 32).every((v) => v === 0)).toBe(true)
    expect(y.slice(32, 64).every(Number.isNaN)).toBe(true)
    expect(y.slice(64).every((v) => Math.abs(v - 1) < 1e-3)).toBe(true)
  })
})

function maxDifference(a: Float32Array, b: number[]): number {
  expect(a.length).toBe(b.length)
  return a.reduce((most, v, i) => Math.max(most, Math.abs(v - (b[i] ?? NaN))), 0)
}
