// KL divergence of a setting from dense where answers stand: it tells settings apart that lose the same answers.

import { logSum } from '../quality/reader.mjs'

/** Tokens of dense's distribution that are kept, the likeliest. All others count as one, which leaves a lower bound. */
const KEPT = 64

/**
 * @param {Float32Array} logits  dense's, of one token
 * @returns {{ ids: number[], logs: number[] }} the likeliest tokens and their log-probabilities
 */
export function headOf(logits) {
  const all = logSum(logits)
  const least = Float32Array.from(logits).sort().at(-Math.min(KEPT, logits.length))
  const likely = [...logits.keys()].filter((id) => logits[id] >= least) // more than are kept where some tie
  const ids = likely.sort((a, b) => logits[b] - logits[a]).slice(0, KEPT)
  return { ids, logs: ids.map((id) => logits[id] - all) }
}

/** KL(dense || other), in nats. @param {ReturnType<typeof headOf>} dense  @param {Float32Array} logits  the other's */
export function divergence({ ids, logs }, logits) {
  const all = logSum(logits)
  const others = ids.map((id) => logits[id] - all)
  return [
    [...logs, restOf(logs)],
    [...others, restOf(others)],
  ].reduce((dense, other) =>
    dense.reduce((sum, log, i) => sum + (log > -Infinity ? Math.exp(log) * (log - other[i]) : 0), 0),
  )
}

/** The log of what is left of the probability; as little as a float tells from nothing where that is nothing. */
function restOf(logs) {
  return Math.log(Math.max(1 - logs.reduce((sum, log) => sum + Math.exp(log), 0), 2 ** -24))
}
