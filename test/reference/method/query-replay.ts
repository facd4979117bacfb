// Comparing an engine's blocks under the policy `query` with the reference: as replay.ts does for `votes`.

import { range } from '../model/attention.js'
import { BLOCK } from './query-order.js'
import type { BlockTrace, ForcedBlocks } from './query-pass.js'

/**
 * One layer of one chunk as the engine reports it; memPos is [nSets][nHeads][nMem], flat. What equals its neighbour is no
 * member. order is [nHeads][nChunk], flat: which query is at each place; empty without sets.
 */
export interface EngineBlocks {
  layer: number
  nChunk: number
  nHeads: number
  nSets: number
  nMem: number
  memPos: ArrayLike<number>
  order: ArrayLike<number>
}

/** The blocks of one call, its entries ordered by chunk within each layer. Without sets they are of neighbours. */
export function blocksOf(entries: readonly EngineBlocks[]): ForcedBlocks {
  return (layer, chunk, head, block) => {
    const entry = entries.filter((e) => e.layer === layer)[chunk]
    if (!entry) throw new RangeError(`no entry for layer ${layer}, chunk ${chunk}`)
    const { nChunk, nHeads, nSets, nMem, memPos, order } = entry
    const at = (block * nHeads + head) * nMem
    const cells = Array.from(memPos).slice(at, at + nMem)
    const places = nSets > 0 ? Array.from(order).slice(head * nChunk, (head + 1) * nChunk) : range(0, nChunk)
    return {
      queries: places.slice(block * BLOCK, (block + 1) * BLOCK),
      set: cells.filter((p, i) => p !== cells[i - 1]),
    }
  }
}

/** The share of the queries in blocks with sets that are in the reference's own block, too: rounding moves some. */
export function alikeQueries(blocks: readonly BlockTrace[]): number {
  const chosen = blocks.filter(({ set }) => set.length > 0)
  const count = (of: (block: BlockTrace) => number) => chosen.reduce((sum, block) => sum + of(block), 0)
  return (
    count(({ queries, ownQueries }) => queries.filter((i) => ownQueries.includes(i)).length) /
    count(({ ownQueries }) => ownQueries.length)
  )
}

/**
 * The sets that are not the reference's own, in words. A set may be another one where the reference chose by `tol` or
 * less: rounding decides there. Scores are logarithms of shares.
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
