// What sparse calls hand on to later ones (src/native/h2o/README.md, "State").

import { range } from '../model/attention.js'
import type { Hparams } from '../model/model.js'

/** What outlives a call, for one layer and KV head: scores of the last memory set and of the last sparse chunk. */
export interface HeadState {
  memory: Map<number, number>
  chunk: Map<number, number>
}

export function emptyState(h: Hparams): HeadState[][] {
  return range(0, h.nLayer).map(() =>
    range(0, h.nHeadKv).map(() => ({ memory: new Map(), chunk: new Map() })),
  )
}

/**
 * Removing every position >= p: scores of what is removed go, the last chunk is cut to end at p, votes already cast
 * stay. Nothing happens if p lies past the last sparse chunk; p = 0 leaves the empty state.
 */
export function rollbackState(state: HeadState[][], p: number): void {
  for (const { memory, chunk } of state.flat()) {
    for (const scores of [memory, chunk]) {
      for (const j of [...scores.keys()]) if (j >= p) scores.delete(j)
    }
  }
}
