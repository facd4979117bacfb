/**
 * Values to stored bytes and back, per tensor type: ggml's block formats with the rounding of its reference
 * quantisers, in 32-bit arithmetic. Little-endian machines only, as GGUF files are.
 * A NaN makes the whole quantised block NaN (through its scale), so that bad weights stay bad in every type.
 */

import { bf16FromBits, f16FromBits, f16FromNumber, numberFromBits, numberFromF16 } from './half.js'
import { byteLength, type TensorType } from './types.js'

const fround = Math.fround
const QK = 32
/** The bits of a float without its sign. */
const MAGNITUDE = 0x7fffffff

const encoders = { f16: encodeF16, bf16: encodeBf16, q8_0: encodeQ8, q4_0: encodeQ4 }

/** Stored bytes of `values`, whose count is a whole number of blocks. F32 shares the memory of `values`. */
export function encode(type: TensorType, values: Float32Array): Uint8Array {
  if (type === 'f32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  const out = new Uint8Array(byteLength(type, values.length))
  return encoders[type](values, out)
}

const decoders = { f16: decodeF16, bf16: decodeBf16, q8_0: decodeQ8, q4_0: decodeQ4 }

/** The values that `bytes` stand for, as llama.cpp reads them. F32 shares the memory of `bytes`. */
export function decode(type: TensorType, bytes: Uint8Array): Float32Array {
  if (type === 'f32') return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  return decoders[type](bytes)
}

function bitsOf(x: Float32Array): Int32Array {
  return new Int32Array(x.buffer, x.byteOffset, x.length)
}

function encodeF16(x: Float32Array, out: Uint8Array): Uint8Array {
  const bits = bitsOf(x)
  const halves = new Uint16Array(out.buffer)
  for (let i = 0; i < bits.length; i++) halves[i] = f16FromBits(bits[i] as number)
  return out
}

function encodeBf16(x: Float32Array, out: Uint8Array): Uint8Array {
  const bits = bitsOf(x)
  const halves = new Uint16Array(out.buffer)
  for (let i = 0; i < bits.length; i++) halves[i] = bf16FromBits(bits[i] as number)
  return out
}

function decodeF16(bytes: Uint8Array): Float32Array {
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2)
  const x = new Float32Array(halves.length)
  for (let i = 0; i < x.length; i++) x[i] = numberFromF16(halves[i] as number)
  return x
}

function decodeBf16(bytes: Uint8Array): Float32Array {
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2)
  const bits = new Int32Array(halves.length)
  for (let i = 0; i < bits.length; i++) bits[i] = (halves[i] as number) << 16
  return new Float32Array(bits.buffer)
}

/**
 * block_q8_0: f16 d, then 32 x i8; d = max|x| / 127, q = round(x / d) with halves away from zero.
 * Magnitudes are compared as integers, where NaN is the largest, and signs applied without a branch: random signs
 * cannot be predicted.
 */
function encodeQ8(x: Float32Array, out: Uint8Array): Uint8Array {
  const bits = bitsOf(x)
  for (let i = 0, o = 0; i < x.length; i += QK, o += 2 + QK) {
    let largest = 0
    for (let j = i; j < i + QK; j++) largest = Math.max(largest, (bits[j] as number) & MAGNITUDE)
    if (largest === 0) continue
    const id = setScale(out, o, fround(numberFromBits(largest) / 127))
    for (let j = 0; j < QK; j++) {
      const sign = (bits[i + j] as number) >> 31
      const magnitude = (Math.abs(fround((x[i + j] as number) * id)) + 0.5) | 0
      out[o + 2 + j] = (magnitude ^ sign) - sign
    }
  }
  return out
}

function decodeQ8(bytes: Uint8Array): Float32Array {
  const q = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length)
  const x = new Float32Array((bytes.length / (2 + QK)) * QK)
  for (let i = 0, o = 0; i < x.length; i += QK, o += 2 + QK) {
    const d = scaleAt(bytes, o)
    for (let j = 0; j < QK; j++) x[i + j] = d * (q[o + 2 + j] as number)
  }
  return x
}

/** block_q4_0: f16 d, then 16 bytes, low nibbles the first 16 values; d = (the first x of largest |x|) / -8. */
function encodeQ4(x: Float32Array, out: Uint8Array): Uint8Array {
  const bits = bitsOf(x)
  for (let i = 0, o = 0; i < x.length; i += QK, o += 2 + QK / 2) {
    let largest = 0
    let at = i
    for (let j = i; j < i + QK; j++) {
      const magnitude = (bits[j] as number) & MAGNITUDE
      if (magnitude > largest) {
        largest = magnitude
        at = j
      }
    }
    const id = setScale(out, o, fround((x[at] as number) / -8))
    for (let j = 0; j < QK / 2; j++) {
      out[o + 2 + j] = nibble(x[i + j] as number, id) | (nibble(x[i + QK / 2 + j] as number, id) << 4)
    }
  }
  return out
}

function nibble(x: number, id: number): number {
  return Math.min(15, fround(fround(x * id) + 8.5) | 0)
}

function decodeQ4(bytes: Uint8Array): Float32Array {
  const x = new Float32Array((bytes.length / (2 + QK / 2)) * QK)
  for (let i = 0, o = 0; i < x.length; i += QK, o += 2 + QK / 2) {
    const d = scaleAt(bytes, o)
    for (let j = 0; j < QK / 2; j++) {
      const q = bytes[o + 2 + j] as number
      x[i + j] = d * ((q & 15) - 8)
      x[i + QK / 2 + j] = d * ((q >>> 4) - 8)
    }
  }
  return x
}

/** Stores a block's scale at `offset` and gives its reciprocal, 0 for a scale of 0 or NaN. */
function setScale(out: Uint8Array, offset: number, d: number): number {
  const half = f16FromNumber(d)
  out[offset] = half
  out[offset + 1] = half >>> 8
  return d ? fround(1 / d) : 0
}

function scaleAt(bytes: Uint8Array, offset: number): number {
  return numberFromF16((bytes[offset] as number) | ((bytes[offset + 1] as number) << 8))
}
