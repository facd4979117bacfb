/** A plain GGUF reader, written from the format's description and not from the writer. */

export interface GgufFile {
  version: number
  metadata: Map<string, unknown>
  tensors: { name: string; shape: number[]; type: number; offset: number }[]
  /** Where the tensor data begins. */
  dataOffset: number
}

export function readGguf(bytes: Uint8Array): GgufFile {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const skip = (size: number) => {
    at += size
    return at - size
  }
  const u32 = () => view.getUint32(skip(4), true)
  const u64 = () => Number(view.getBigUint64(skip(8), true))
  const text = () => {
    const size = u64()
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(skip(size), at))
  }
  const value = (type: number): unknown => {
    if (type === 4) return u32()
    if (type === 5) return view.getInt32(skip(4), true)
    if (type === 6) return view.getFloat32(skip(4), true)
    if (type === 7) return view.getUint8(skip(1)) === 1
    if (type === 8) return text()
    if (type !== 9) throw new Error(`value type ${type}`)
    const item = u32()
    return Array.from({ length: u64() }, () => value(item))
  }

  if (new TextDecoder().decode(bytes.subarray(skip(4), 4)) !== 'GGUF') throw new Error('magic')
  const version = u32()
  const nTensors = u64()
  const nEntries = u64()
  const metadata = new Map(Array.from({ length: nEntries }, () => [text(), value(u32())] as const))
  const tensors = Array.from({ length: nTensors }, () => ({
    name: text(),
    shape: Array.from({ length: u32() }, u64),
    type: u32(),
    offset: u64(),
  }))
  return { version, metadata, tensors, dataOffset: Math.ceil(at / 32) * 32 }
}
