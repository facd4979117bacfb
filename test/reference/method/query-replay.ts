// Comparing an engine's sets under the policy `query` with the reference: as replay.ts does for `votes`.

import type { BlockTrace, ForcedSets } from './query-pass.js'

/** One layer of one chunk as the engine reports it; memPos is [nSets][nHeads][nMem], flat. What equals its neighbour is no member. */
export interface EngineBlocks {
  layer: number
  nHeads: number
  nSets: number
  nMem: number
  memPos: ArrayLike<number>
}

/** The sets of one call, its entries ordered by chunk within each layer. */
export function blocksOf(entries: readonly EngineBlocks[]): ForcedSets {
  return (layer, chunk, head, block) => {
    const entry = entries.filter((e) => e.layer === layer)[chunk]
    if (!entry) throw new RangeError(`no entry for layer ${layer}, chunk ${chunk}`)
    const at = (block * entry.nHeads + head) * entry.nMem
    const cells = Array.from(entry.memPos).slice(at, at + entry.nMem)
    return cells.filter((p, i) => p !== cells[i - 1])
  }
}

/**
 * The sets that are not the reference's own, in words. A set may be another one where the reference chose by `tol` or
 * less: rounding decides there. Scores are logarithms of shares, and cosines.
 */
export function checkSets(blocks: readonly BlockTrace[], tol: number): string[] {
  return blocks
    .filter(({ set, own, margin }) => margin > tol && String(set) !== String(own))
    .map(({ layer, head, pos, block, set, own, margin }) => {
      const [lacks, has] = [own.filter((x) => !set.includes(x)), set.filter((x) => !own.includes(x))]
      const place = `layer ${layer}, head ${head}, chunk at ${pos}, block ${block}`
      return `${place}: lacks ${lacks}, has ${has} (of ${own.length}, margin ${margin})`
    })
}
