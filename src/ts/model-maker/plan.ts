/** A model as a list of tensors to make: name, shape, type, and how its values are drawn. No values yet. */

import type { TensorInfo } from './gguf.js'
import type { ModelConfig } from './spec.js'
import { type TensorType, typeTraits } from './types.js'
import { isPrintable, MIN_VOCAB } from './vocabulary.js'

/** Values are mean + std * N(0, 1). `std` may depend on the row: a vocabulary entry, or q, k or v of a fused matrix. */
export interface TensorPlan extends TensorInfo {
  readonly mean: number
  readonly std: number | ((row: number) => number)
}

/** What share of the others' scale unreadable tokens get. */
const UNREADABLE = 1 / 8
/** Logits have about this standard deviation. */
const LOGIT_STD = 2

/**
 * Collects the tensors of one model. Matrices are scaled by 1 / sqrt(inputs), so that inputs of unit variance give
 * outputs of variance gain^2, whatever the size.
 */
export class TensorList {
  readonly tensors: TensorPlan[] = []

  constructor(private readonly config: ModelConfig) {}

  /** Shape [inputs, outputs], or [inputs, outputs, experts]. `gain` may depend on the output row. */
  matrix(
    name: string,
    inputs: number,
    outputs: number | readonly number[],
    gain: TensorPlan['std'] = 1,
  ): void {
    const scale = 1 / Math.sqrt(inputs)
    const std = typeof gain === 'number' ? gain * scale : (row: number) => gain(row) * scale
    this.add(name, [inputs, ...[outputs].flat()], this.config.type, 0, std)
  }

  /** One row per token. Unused tokens get zeros, so a sampled token always is a real one. */
  tokens(name: string, type: TensorType, readable: boolean, gain = 1): void {
    const { hidden, vocab } = this.config
    const std = (gain * LOGIT_STD) / Math.sqrt(hidden)
    const scale = (token: number) =>
      token >= MIN_VOCAB ? 0 : readable && !isPrintable(token) ? std * UNREADABLE : std
    this.add(name, [hidden, vocab], type, 0, scale)
  }

  /** Norm weights: around `mean`, different enough that leaving them out shows. */
  norm(name: string, size: number, mean = 1): void {
    this.small(name, [size], mean, 0.2 * mean)
  }

  /** Anything that stays F32: biases, routers, sinks, state space parameters. */
  small(name: string, shape: readonly number[], mean: number, std: number): void {
    this.add(name, shape, 'f32', mean, std)
  }

  private add(
    name: string,
    shape: readonly number[],
    type: TensorType,
    mean: number,
    std: TensorPlan['std'],
  ): void {
    const { blockSize } = typeTraits[type]
    const row = shape[0] as number
    if (row % blockSize !== 0) {
      throw new RangeError(`${name}: rows of ${row} values do not divide into ${type} blocks of ${blockSize}`)
    }
    this.tensors.push({ name, shape, type, mean, std })
  }
}
