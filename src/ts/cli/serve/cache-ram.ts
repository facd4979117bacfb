// --cache-ram: how much memory there is for what slots held.
import type { Context } from '../../index.js'

/** As llama.cpp's server has it. */
export const defaultCacheMiB = 8192

/** Bytes: what is asked for, without a bound for -1, else the default where the machine has twice as much beside the model and the context. */
export function cacheBytes(
  asked: number | undefined,
  { memory, model }: Context,
  machineBytes: number,
): number {
  if (asked !== undefined) return asked < 0 ? Number.POSITIVE_INFINITY : asked * 2 ** 20
  const taken = memory.kvBytes + memory.computeBytes + model.sizeBytes
  return Math.max(0, Math.min(defaultCacheMiB * 2 ** 20, Math.floor((machineBytes - taken) / 2)))
}
