// --cache-ram: how much memory there is for what contexts held.
import type { Context } from '../../index.js'

/** As llama.cpp's server has it. */
export const defaultCacheMiB = 8192

/** Bytes: what is asked for, without a bound for -1, else the default where the machine has twice as much beside the model and the contexts. */
export function cacheBytes(
  asked: number | undefined,
  contexts: readonly [Context, ...Context[]],
  machineBytes: number,
): number {
  if (asked !== undefined) return asked < 0 ? Number.POSITIVE_INFINITY : asked * 2 ** 20
  const [{ model }] = contexts
  const taken = contexts.reduce(
    (sum, { memory }) => sum + memory.kvBytes + memory.computeBytes,
    model.sizeBytes,
  )
  return Math.max(0, Math.min(defaultCacheMiB * 2 ** 20, Math.floor((machineBytes - taken) / 2)))
}
