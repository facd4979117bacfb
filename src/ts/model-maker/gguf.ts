/** The head of a GGUF v3 file: magic, metadata, tensor infos, and the padding before the tensor data. */

import { byteLength, type TensorType, typeTraits } from './types.js'

export type GgufValue =
  | { readonly type: 'u32' | 'i32' | 'f32'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'u32[]' | 'i32[]' | 'f32[]'; readonly value: readonly number[] }
  | { readonly type: 'bool[]'; readonly value: readonly boolean[] }
  | { readonly type: 'string[]'; readonly value: readonly string[] }

export type Metadata = Readonly<Record<string, GgufValue>>

export interface TensorInfo {
  readonly name: string
  /** ggml's order: the first extent is the row length. */
  readonly shape: readonly number[]
  readonly type: TensorType
}

const ALIGNMENT = 32
const VERSION = 3
const ARRAY = 9
const valueTypeIds = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8 } as const
type ScalarType = keyof typeof valueTypeIds

export const u32 = (value: number): GgufValue => ({ type: 'u32', value })
export const f32 = (value: number): GgufValue => ({ type: 'f32', value })
export const bool = (value: boolean): GgufValue => ({ type: 'bool', value })
export const string = (value: string): GgufValue => ({ type: 'string', value })

/** Values in a tensor of this shape. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1)
}

/** Bytes that a tensor takes in the file, without the padding that follows it. */
export function tensorBytes(info: TensorInfo): number {
  return byteLength(info.type, elementCount(info.shape))
}

/** How many zero bytes follow something of `size` bytes, so that the next thing is aligned. */
export function paddingAfter(size: number): number {
  return (ALIGNMENT - (size % ALIGNMENT)) % ALIGNMENT
}

/** Everything that comes before the first tensor's data. The data follows in the order of `tensors`, each padded. */
export function ggufHead(metadata: Metadata, tensors: readonly TensorInfo[]): Uint8Array {
  const entries = Object.entries(metadata)
  const out = new ByteSink()
  out.ascii('GGUF')
  out.u32(VERSION)
  out.u64(tensors.length)
  out.u64(entries.length)
  for (const [key, value] of entries) {
    out.string(key)
    writeValue(out, value)
  }
  let offset = 0
  for (const tensor of tensors) {
    out.string(tensor.name)
    out.u32(tensor.shape.length)
    for (const extent of tensor.shape) out.u64(extent)
    out.u32(typeTraits[tensor.type].id)
    out.u64(offset)
    const size = tensorBytes(tensor)
    offset += size + paddingAfter(size)
  }
  out.zeros(paddingAfter(out.length))
  return out.bytes()
}

function writeValue(out: ByteSink, { type, value }: GgufValue): void {
  const scalar = type.replace('[]', '') as ScalarType
  if (!Array.isArray(value)) {
    out.u32(valueTypeIds[scalar])
    writeScalar(out, scalar, value as Scalar)
    return
  }
  out.u32(ARRAY)
  out.u32(valueTypeIds[scalar])
  out.u64(value.length)
  for (const item of value) writeScalar(out, scalar, item)
}

type Scalar = number | boolean | string

function writeScalar(out: ByteSink, type: ScalarType, value: Scalar): void {
  if (type === 'string') out.string(value as string)
  else if (type === 'bool') out.u8(value ? 1 : 0)
  else if (type === 'f32') out.f32(value as number)
  else out.u32(value as number)
}

/** A growing little-endian byte buffer. */
class ByteSink {
  length = 0
  private buffer = Buffer.alloc(1 << 16)

  u8(value: number): void {
    this.next(1).writeUInt8(value)
  }

  /** Also takes negative 32-bit integers. */
  u32(value: number): void {
    this.next(4).writeUInt32LE(value >>> 0)
  }

  u64(value: number): void {
    this.next(8).writeBigUInt64LE(BigInt(value))
  }

  f32(value: number): void {
    this.next(4).writeFloatLE(value)
  }

  ascii(text: string): void {
    this.next(text.length).write(text, 'latin1')
  }

  string(text: string): void {
    const size = Buffer.byteLength(text)
    this.u64(size)
    this.next(size).write(text)
  }

  zeros(count: number): void {
    this.next(count)
  }

  bytes(): Uint8Array {
    return this.buffer.subarray(0, this.length)
  }

  /** The next `size` bytes, zero so far. */
  private next(size: number): Buffer {
    const begin = this.length
    this.length += size
    if (this.length > this.buffer.length) {
      const grown = Buffer.alloc(2 * this.length)
      this.buffer.copy(grown)
      this.buffer = grown
    }
    return this.buffer.subarray(begin, this.length)
  }
}
