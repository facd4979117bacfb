/** 16-bit floats, rounded to nearest even as ggml does it. The functions work on the bits of a 32-bit float. */

const f32 = new Float32Array(1)
const bits = new Int32Array(f32.buffer)

/** IEEE half of the float with bits `w`. Overflow gives infinity, NaN a quiet NaN. */
export function f16FromBits(w: number): number {
  const sign = (w >>> 16) & 0x8000
  const a = w & 0x7fffffff
  if (a >= 0x47800000) return sign | (a > 0x7f800000 ? 0x7e00 : 0x7c00)
  if (a >= 0x38800000) return sign | ((a + 0xfff + ((a >>> 13) & 1) - 0x38000000) >>> 13)
  if (a <= 0x33000000) return sign // at most half of the smallest subnormal
  const shift = 126 - (a >>> 23)
  const mantissa = (a & 0x7fffff) | 0x800000
  const half = 1 << (shift - 1)
  const rest = mantissa & (2 * half - 1)
  const q = mantissa >>> shift
  return sign | (rest > half || (rest === half && q & 1) ? q + 1 : q)
}

/** bfloat16 of the float with bits `w`. */
export function bf16FromBits(w: number): number {
  if ((w & 0x7fffffff) > 0x7f800000) return (w >>> 16) | 64
  return (w + 0x7fff + ((w >>> 16) & 1)) >>> 16
}

export function f16FromNumber(x: number): number {
  f32[0] = x
  return f16FromBits(bits[0] as number)
}

/** The float with these bits. */
export function numberFromBits(w: number): number {
  bits[0] = w
  return f32[0] as number
}

export function numberFromF16(h: number): number {
  const sign = h & 0x8000 ? -1 : 1
  const exponent = (h >>> 10) & 31
  const mantissa = h & 0x3ff
  if (exponent === 0) return sign * mantissa * 2 ** -24
  if (exponent === 31) return mantissa ? Number.NaN : sign * Number.POSITIVE_INFINITY
  return sign * (1024 + mantissa) * 2 ** (exponent - 25)
}
