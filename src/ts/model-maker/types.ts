/** The tensor types that the maker writes, with the numbers that GGUF and ggml know them by. */

export type TensorType = 'f32' | 'f16' | 'bf16' | 'q8_0' | 'q4_0'

export interface TypeTraits {
  /** `ggml_type` */
  readonly id: number
  /** `llama_ftype`, what general.file_type says of a model whose matrices have this type */
  readonly fileType: number
  /** Values per block; a row must be a whole number of blocks. */
  readonly blockSize: number
  /** Bytes per block. */
  readonly blockBytes: number
}

export const typeTraits: Readonly<Record<TensorType, TypeTraits>> = {
  f32: { id: 0, fileType: 0, blockSize: 1, blockBytes: 4 },
  f16: { id: 1, fileType: 1, blockSize: 1, blockBytes: 2 },
  bf16: { id: 30, fileType: 32, blockSize: 1, blockBytes: 2 },
  q8_0: { id: 8, fileType: 7, blockSize: 32, blockBytes: 34 },
  q4_0: { id: 2, fileType: 2, blockSize: 32, blockBytes: 18 },
}

/** Bytes that `count` values take. */
export function byteLength(type: TensorType, count: number): number {
  const { blockSize, blockBytes } = typeTraits[type]
  return (count / blockSize) * blockBytes
}
