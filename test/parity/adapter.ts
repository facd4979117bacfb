// LoRA adapters with random weights, for the models of the model maker.

import { writeFile } from 'node:fs/promises'
import {
  f32,
  ggufHead,
  type Metadata,
  paddingAfter,
  string,
  type TensorInfo,
  tensorBytes,
} from '../../src/ts/model-maker/gguf.js'

export interface AdapterSpec {
  arch?: string
  /** Of the model's tensors: extents as ggml has them, [in, out] or [in, out, experts]. */
  weights: Record<string, readonly [number, number, number?]>
  rank?: number
  metadata?: Metadata
  /** Tensors in place of those that belong there. */
  edit?(tensors: TensorInfo[]): TensorInfo[]
}

export const adapterKeys = (arch: string): Metadata => ({
  'general.type': string('adapter'),
  'general.architecture': string(arch),
  'adapter.type': string('lora'),
  'adapter.lora.alpha': f32(8),
})

export async function writeAdapter(path: string, spec: AdapterSpec): Promise<string> {
  const { arch = 'llama', weights, rank = 4, metadata = {}, edit = (tensors) => tensors } = spec
  const tensors = edit(
    Object.entries(weights).flatMap(([name, [n, m, experts]]): TensorInfo[] => {
      const rest = experts === undefined ? [] : [experts]
      return [
        { name: `${name}.lora_a`, shape: [n, rank, ...rest], type: 'f32' },
        { name: `${name}.lora_b`, shape: [rank, m, ...rest], type: 'f32' },
      ]
    }),
  )
  const parts = [ggufHead({ ...adapterKeys(arch), ...metadata }, tensors)]
  let state = 7
  for (const info of tensors) {
    const bytes = tensorBytes(info)
    const values = Float32Array.from({ length: bytes / 4 }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return (state / 2 ** 32 - 0.5) * 0.4
    })
    parts.push(new Uint8Array(values.buffer), new Uint8Array(paddingAfter(bytes)))
  }
  await writeFile(path, Buffer.concat(parts))
  return path
}
