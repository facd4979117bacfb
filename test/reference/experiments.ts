// Variants of voting and keeping (docs/experiments.md), by their definitions. Each is off where it is left out.

import type { Scores } from './selection.js'

export interface Experiments {
  /** positions below it are always kept, in places of H; used as min(sink, H) */
  sink?: number | undefined
  /** only the last so many queries of a chunk vote */
  voteWindow?: number | undefined
  /** weights are those of the one softmax over memory and chunk */
  voteFused?: boolean | undefined
  /** initial scores per query that votes and sees the key, times the queries that vote; at most 16 times */
  voteCausal?: boolean | undefined
  /** scores are compared per chunk that could have voted */
  voteMean?: boolean | undefined
  /** factor of the memory's scores before a chunk votes */
  decay?: number | undefined
}

/** Positions [begin, end) of a chunk that went the sparse path. */
export interface Span {
  begin: number
  end: number
}

/** Whether query i of the chunk votes. */
export function votes({ voteWindow }: Experiments, { end }: Span, i: number): boolean {
  return voteWindow === undefined || i >= end - voteWindow
}

/** The initial scores of a chunk, after vote causal. */
export function initialScores(
  experiments: Experiments,
  chunk: Span,
  scores: Map<number, number>,
): Map<number, number> {
  if (!experiments.voteCausal) return scores
  const voters = (from: number) => {
    let count = 0
    for (let i = from; i < chunk.end; i++) if (votes(experiments, chunk, i)) count++
    return count
  }
  const all = voters(chunk.begin)
  return new Map([...scores].map(([j, score]) => [j, score * Math.min(16, all / voters(j))]))
}

/** What selection compares: scores, or with vote mean their means over the chunks from a position's own one on. */
export function comparable({ voteMean }: Experiments, spans: readonly Span[], tracked: Scores): Scores {
  if (!voteMean) return tracked
  return new Map(
    [...tracked].map(([j, score]) => [j, score / Math.max(1, spans.filter(({ end }) => end > j).length)]),
  )
}
