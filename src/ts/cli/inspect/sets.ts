// Memory sets as ascending lists of positions: their parts, how much two of them share, how much of one is new.

import type { H2oTraceEntry } from '../../index.js'
import { mean } from '../statistics.js'

export type Positions = ArrayLike<number>

/** The members of the i-th set of a trace entry, which ends with its last one again and again where it has fewer than nMem. */
export function membersOf({ memPos, nMem }: Pick<H2oTraceEntry, 'memPos' | 'nMem'>, i: number): Int32Array {
  return memPos.subarray(i * nMem, (i + 1) * nMem).filter((position, j, all) => position !== all[j - 1])
}

/** The members that are there by score: all but the last `local` positions before `pos`, where the chunk begins. */
export function heavyOf(memory: Int32Array, pos: number, local: number): Int32Array {
  return memory.filter((position) => position < pos - local)
}

/** Positions in both of two ascending lists. */
export function intersection(a: Positions, b: Positions): number {
  let [i, j, shared] = [0, 0, 0]
  while (i < a.length && j < b.length) {
    const difference = (a[i] as number) - (b[j] as number)
    if (difference === 0) shared++
    if (difference <= 0) i++
    if (difference >= 0) j++
  }
  return shared
}

/** |a ∩ b| / |a ∪ b|, 1 for equal sets; null for two empty ones. */
export function jaccard(a: Positions, b: Positions): number | null {
  const shared = intersection(a, b)
  const union = a.length + b.length - shared
  return union === 0 ? null : shared / union
}

/** Every position of any of them, ascending. */
export function union(sets: readonly Int32Array[]): Int32Array {
  const [only] = sets
  if (only && sets.length === 1) return only
  return Int32Array.from(new Set(sets.flatMap((set) => [...set]))).sort()
}

/** The mean Jaccard overlap of all pairs; null where there is no pair, or nothing in it. */
export function meanPairJaccard(sets: readonly Positions[]): number | null {
  const pairs = sets.flatMap((a, i) => sets.slice(i + 1).map((b) => jaccard(a, b)))
  return mean(pairs)
}

/**
 * The share of `before` that is not in `after`. All of a chunk's Heavy could stay in the next one's: what left had to
 * make room for something new. null where there was none.
 */
export function turnover(before: Positions, after: Positions): number | null {
  return before.length === 0 ? null : 1 - intersection(before, after) / before.length
}
