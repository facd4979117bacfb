// What a sparse prefill should gain over a dense one, from what both have to compute. docs/models.md says how good a
// prediction that is.
import type { ContextH2o, PrefillCost } from '../../index.js'
import { resolvedH2o } from '../../options.js'
import { policyOf } from '../../policies.js'

const CHUNK = 1024

type Predicted = Pick<ContextH2o, 'covered' | 'cost' | 'select' | 'heavy' | 'heavyGrows'>

/** What is predicted: the chunk of the README, and the defaults there, with the model's own H. */
export function predictedSettings({ select, heavy }: Pick<Predicted, 'select' | 'heavy'>) {
  const defaults = resolvedH2o({}, CHUNK)
  return { chunk: CHUNK, local: defaults.local, heavy: policyOf(select).hasMemory ? defaults.heavy : heavy }
}

/**
 * What a floating-point operation of attention costs, as one of a product with weights: 1 on a good GPU, 4 on a CPU.
 */
export const RATIOS = [1, 4] as const

export const LENGTHS = [8192, 32768, 131072] as const

export interface Gain {
  tokens: number
  /** Dense time over sparse time for each of RATIOS. */
  times: number[]
}

/** Empty if the context is not covered. */
export function predictGains(h2o: Predicted): Gain[] {
  if (!h2o.covered) return []
  const { cost } = h2o
  const { chunk, local, heavy } = predictedSettings(h2o)
  return LENGTHS.map((tokens) => {
    // on average: half of the own chunk, and the memory in all chunks but the first
    const set = heavy * (h2o.heavyGrows ? Math.max(1, tokens / 2 / 4096) : 1)
    const keys = chunk / 2 + (local + set) * (1 - chunk / tokens)
    return {
      tokens,
      times: RATIOS.map((ratio) => timeOf(cost, ratio, tokens / 2) / timeOf(cost, ratio, keys)),
    }
  })
}

/** Of one token that reads `keys` keys, in operations of a product with weights. */
function timeOf({ linear, pair, windowPair, window }: PrefillCost, ratio: number, keys: number): number {
  const inWindows = windowPair * (window + CHUNK)
  return linear + ratio * (pair * keys + inWindows)
}
