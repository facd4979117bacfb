/** How many threads there may be, and how many there are without being told. */

import { availableParallelism } from 'node:os'

/** ggml takes no more. */
export const maxThreads = 512

/** A thread per core. */
export function defaultThreads(): number {
  return Math.min(availableParallelism(), maxThreads)
}
