// Comparing an engine with the reference: replay the engine's memory sets, then see that each was a right choice by
// the reference's own scores. Logits can be compared then even where two scores are nearly equal.
//
//   const engine = context.takeTrace()                                     // after a sparse call
//   const call = reference.call(tokens, { forcedMemory: setsOf(engine) })
//   checkSelections(call.trace, { L, H }, 1e-5)                            // []
//   nmse(engineLogits, call.logits)                                        // <= 1e-9
//
// A check with tol = 0 on scores that the engine itself reports covers its tie rule: see checkSelection.

import type { ChunkTrace, ForcedMemory } from './h2o.js'
import { type Budget, checkSelection } from './selection.js'

/** One layer of one chunk as the engine reports it; memPos is [nHeads][nMem], flat. */
export interface EngineSets {
  layer: number
  nHeads: number
  nMem: number
  memPos: ArrayLike<number>
}

/** The sets of one call, its entries ordered by chunk within each layer. */
export function setsOf(entries: readonly EngineSets[]): ForcedMemory {
  return (layer, chunk, head) => {
    const entry = entries.filter((e) => e.layer === layer)[chunk]
    if (!entry) throw new RangeError(`no entry for layer ${layer}, chunk ${chunk}`)
    return Array.from(entry.memPos).slice(head * entry.nMem, (head + 1) * entry.nMem)
  }
}

/** What checkSelection finds wrong with the memory sets of a call, each with its place; empty if all are right. */
export function checkSelections(trace: readonly ChunkTrace[], budget: Budget, tol: number): string[] {
  return trace.flatMap(({ layer, pos, heads }) =>
    heads.flatMap(({ memPos, tracked }, head) =>
      checkSelection(memPos, tracked, { ...budget, p: pos }, tol).map(
        (problem) => `layer ${layer}, head ${head}, chunk at ${pos}: the set ${problem}`,
      ),
    ),
  )
}
