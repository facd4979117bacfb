/** A whole model in memory, for tests that compare with a reference. */

import { planModel } from './architectures/index.js'
import { decode } from './encoding.js'
import type { Metadata, TensorInfo } from './gguf.js'
import { type ModelConfig, type ModelSpec, resolveSpec } from './spec.js'
import { encodedRows } from './values.js'

export interface GgufTensor extends TensorInfo {
  /**
   * The values as stored, after the round trip through `type`. With shape [n0, n1, n2], value (i0, i1, i2) is at
   * (i2*n1 + i1)*n0 + i0.
   */
  readonly data: Float32Array
  /** The stored bytes: what is written. For F32 the same memory as `data`. */
  readonly bytes: Uint8Array
}

export interface GgufModel {
  readonly config: ModelConfig
  readonly metadata: Metadata
  /** In file order, by llama.cpp's names: `blk.0.attn_q.weight`, `token_embd.weight`, ... */
  readonly tensors: ReadonlyMap<string, GgufTensor>
}

/** Makes a model. Throws a RangeError for a spec that makes no sense. Equal specs give equal bytes. */
export function makeModel(spec: ModelSpec): GgufModel {
  const config = resolveSpec(spec)
  const { metadata, tensors } = planModel(config)
  const made = tensors.map((plan): [string, GgufTensor] => {
    const { name, shape, type } = plan
    const [bytes] = encodedRows(plan, config, Number.POSITIVE_INFINITY)
    if (!bytes) throw new RangeError(`${name} is empty`)
    return [name, { name, shape, type, bytes, data: decode(type, bytes) }]
  })
  return { config, metadata, tensors: new Map(made) }
}
