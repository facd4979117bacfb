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
import { type Edit, Random } from '../../src/ts/model-maker/index.js'

const ALPHA = 8

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
  'adapter.lora.alpha': f32(ALPHA),
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
  for (const info of tensors) {
    const values = valuesOf(info)
    parts.push(new Uint8Array(values.buffer), new Uint8Array(paddingAfter(values.byteLength)))
  }
  await writeFile(path, Buffer.concat(parts))
  return path
}

function valuesOf(info: TensorInfo): Float32Array<ArrayBuffer> {
  const random = new Random(1, info.name)
  return Float32Array.from({ length: tensorBytes(info) / 4 }, () => (random.uniform() - 0.5) * 0.4)
}

/** For the model maker: puts an adapter of matrices into the weights themselves. */
export function merged({ weights, rank = 4 }: AdapterSpec, scale: number): Edit {
  return (name, values) => {
    const extents = weights[name]
    if (!extents) return
    const [n, m] = extents
    const a = valuesOf({ name: `${name}.lora_a`, shape: [n, rank], type: 'f32' })
    const b = valuesOf({ name: `${name}.lora_b`, shape: [rank, m], type: 'f32' })
    const factor = (scale * ALPHA) / rank
    for (let row = 0; row < m; row++) {
      for (let column = 0; column < n; column++) {
        let sum = 0
        for (let r = 0; r < rank; r++) sum += (b[row * rank + r] ?? 0) * (a[r * n + column] ?? 0)
        values[row * n + column] = (values[row * n + column] ?? 0) + factor * sum
      }
    }
  }
}
