// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The memory set of a block of queries under the policy `query` (src/native/h2o/README.md), for one layer and query
// head. Names of the formulas: q_i is the query of row i, k_x the key at position x, s(i, x) = q_i . k_x / sqrt(d),
// lse(i) the log-sum-exp over Local and the chunk up to i, of logits as attention has them: capped, with the sink.

import { range } from '../model/attention.js'
import { dot } from '../model/ops.js'
import { best, type Choice, highest } from './best.js'
import { type Keys, landmarksOf, meanKey, PAGE, SPAN } from './key-index.js'

/** queries that share a set */
export const BLOCK = 64
/** needy queries of a block */
export const NEEDY = 4

/** One query. */
export interface Row {
  q: Float64Array
  /** over the keys that it sees without a set */
  lse: number
  /** how many these are */
  nSeen: number
}

export interface Question {
  /** the block's queries */
  rows: Row[]
  /** of all positions before the chunk, at least */
  keys: Keys
  /** the chunk begins here */
  begin: number
  /** C: positions 0..C - 1 are the candidates */
  nCandidates: number
  /** H */
  H: number
}

/** The set, ascending. The margin is that of the closest of all choices that led to it. */
export function chooseSet(ask: Question): Choice {
  const { nCandidates, H } = ask
  if (nCandidates <= H) return { taken: range(0, nCandidates), margin: Infinity }

  const byNeed = chooseByNeed(ask)
  const byAll = chooseByAll(ask, byNeed.taken)
  return {
    taken: [...byNeed.taken, ...byAll.taken].sort((a, b) => a - b),
    margin: Math.min(byNeed.margin, byAll.margin),
  }
}

/** The first search: needy queries, among the landmarks. min(64, H / 8) positions. */
function chooseByNeed(ask: Question): Choice {
  const needy = needyRows(ask.rows)
  const landmarks = landmarkCandidates(ask)
  const asking = needy.taken.map((i) => ask.rows[i]!)
  const wanted = best(landmarks.taken, Math.min(64, Math.floor(ask.H / 8)), (x) =>
    wantOf(asking, ask.keys[x]!),
  )
  return { taken: wanted.taken, margin: Math.min(needy.margin, landmarks.margin, wanted.margin) }
}

/** The rows of the lowest need(i) = lse(i) - log(keys that i sees). */
function needyRows(rows: readonly Row[]): Choice {
  return best(range(0, rows.length), NEEDY, (i) => {
    const { lse, nSeen } = rows[i]!
    return -(lse - Math.log(nSeen))
  })
}

/** Landmarks that are candidates, of the spans that are complete before the chunk. */
function landmarkCandidates({ keys, begin, nCandidates }: Question): Choice {
  const spans = range(0, Math.floor(begin / SPAN)).map((span) => landmarksOf(keys, span))
  return {
    taken: spans.flatMap(({ taken }) => taken).filter((x) => x < nCandidates),
    margin: Math.min(...spans.map(({ margin }) => margin)),
  }
}

/** a(x) = max over the rows i of s(i, x) - lse(i) */
function wantOf(rows: readonly Row[], key: Float64Array): number {
  return highest(rows.map(({ q, lse }) => logit(q, key) - lse))
}

/** The second search: all queries, key by key in the best pages. What is left of H, as far as a query gives it enough. */
function chooseByAll(ask: Question, taken: readonly number[]): Choice {
  const searched = searchedPositions(ask)
  const weight = weights(ask.keys, ask.rows, searched.taken)
  const before = new Set(taken)
  const left = searched.taken.filter((x) => !before.has(x))
  const chosen = best(
    left,
    ask.H - taken.length,
    (x) => weight.get(x)!,
    Math.min(Math.log(4 / Math.max(ask.nCandidates, 16384)), highest([...weight.values()])),
  )
  return { taken: chosen.taken, margin: Math.min(searched.margin, chosen.margin) }
}

/**
 * The positions of the best max(32, H / 6) whole pages of candidates, the first one always among them, and those
 * behind the last whole page. b(P) = max over i of (q_i . kbar_P - max over all pages P' of q_i . kbar_P') / sqrt(d)
 */
function searchedPositions({ rows, keys, nCandidates, H }: Question): Choice {
  const nPages = Math.floor(nCandidates / PAGE)
  const means = range(0, nPages).map((page) => meanKey(keys, page))
  const regrets = rows.map(({ q }) => {
    const found = means.map((key) => logit(q, key))
    return found.map((x) => x - highest(found))
  })
  const pages = best(range(0, nPages), Math.max(32, Math.ceil(H / 6)), (page) =>
    page === 0 ? Infinity : highest(regrets.map((row) => row[page]!)),
  )
  const taken = [
    ...pages.taken.flatMap((page) => range(page * PAGE, (page + 1) * PAGE)),
    ...range(nPages * PAGE, nCandidates),
  ]
  return { taken, margin: pages.margin }
}

/** t(x) = max over i of s(i, x) - log(e^lse(i) + sum over the searched pages P of the largest e^s(i, y), y in P) */
function weights(keys: Keys, rows: readonly Row[], searched: readonly number[]): Map<number, number> {
  const ofRow = rows.map(({ q, lse }) => {
    const s = searched.map((x) => logit(q, keys[x]!))
    const peaks: number[] = [] // of the pages
    for (const [j, x] of searched.entries()) {
      const page = Math.floor(x / PAGE)
      peaks[page] = highest([peaks[page] ?? -Infinity, s[j]!])
    }
    const all = logSumExp([lse, ...peaks.filter((peak) => peak !== undefined)])
    return s.map((value) => value - all)
  })
  return new Map(searched.map((x, j) => [x, highest(ofRow.map((row) => row[j]!))]))
}

export function logSumExp(logits: readonly number[]): number {
  const max = logits.reduce((a, b) => Math.max(a, b), -Infinity)
  return max + Math.log(logits.reduce((sum, x) => sum + Math.exp(x - max), 0))
}

function logit(q: Float64Array, key: Float64Array): number {
  return dot(q, 0, key, 0, key.length) / Math.sqrt(key.length)
}
