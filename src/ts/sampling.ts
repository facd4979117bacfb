/** How the next token is chosen. */

import { getRandomValues } from 'node:crypto'
import type { NativeSampling } from './native/surface.js'
import { boolean, integer, number } from './validate.js'

export interface SamplingOptions {
  /** 0 always takes the most likely token: 0.8 */
  temperature?: number
  /** Among the k most likely; 0 is all: 40 */
  topK?: number
  /** Among the most likely that together reach p; 1 is all: 0.95 */
  topP?: number
  /** Among those at least p times as likely as the most likely; 0 is all: 0.05 */
  minP?: number
  /** The same seed, prompt and options give the same tokens. -1 is random, as without it. */
  seed?: number
}

/** llama.cpp takes this one for "random". */
const randomSeed = 0xffffffff

export function checkSampling(options: SamplingOptions & { ignoreEos?: boolean }): NativeSampling {
  const seed = integer('seed', options.seed, -1, -1, randomSeed)
  return {
    temperature: number('temperature', options.temperature, 0.8, 0, 1e6),
    topK: integer('topK', options.topK, 40, 0, 2 ** 31 - 1),
    topP: number('topP', options.topP, 0.95, 0, 1),
    minP: number('minP', options.minP, 0.05, 0, 1),
    seed:
      seed === -1 || seed === randomSeed ? (getRandomValues(new Uint32Array(1))[0] as number) >>> 1 : seed,
    ignoreEos: boolean('ignoreEos', options.ignoreEos, false),
  }
}
