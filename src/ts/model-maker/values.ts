/** Draws a tensor's values and rounds them to its type, a group of rows at a time. */

import { encode } from './encoding.js'
import { elementCount } from './gguf.js'
import type { TensorPlan } from './plan.js'
import { Random } from './random.js'
import type { ModelConfig } from './spec.js'

/**
 * The stored bytes of a tensor, in groups of whole rows of about `groupSize` values. The bytes do not depend on the
 * grouping. With `config.edit` the tensor is one group.
 */
export function* encodedRows(
  plan: TensorPlan,
  config: ModelConfig,
  groupSize: number,
): Generator<Uint8Array> {
  const row = plan.shape[0] as number
  const rows = elementCount(plan.shape) / row
  const rowsPerGroup = config.edit ? rows : Math.max(1, Math.min(rows, Math.floor(groupSize / row)))
  const random = new Random(config.seed, plan.name)
  for (let begin = 0; begin < rows; begin += rowsPerGroup) {
    const end = Math.min(rows, begin + rowsPerGroup)
    const values = new Float32Array((end - begin) * row)
    for (let r = begin; r < end; r++) {
      const std = typeof plan.std === 'number' ? plan.std : plan.std(r)
      const at = (r - begin) * row
      if (std > 0) random.fillNormal(values, at, at + row, plan.mean, std)
      else values.fill(plan.mean, at, at + row)
    }
    config.edit?.(plan.name, values, plan.shape)
    yield encode(plan.type, values)
  }
}
