// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The best of some candidates, and how clear that choice was.

export interface Choice {
  /** ascending */
  taken: number[]
  /** By how much the worst that was taken beats the best that was not: a smaller error of scores changes nothing. */
  margin: number
}

/**
 * The n candidates of the highest score; ties go to the lower candidate, NaN counts as -Infinity. Fewer where
 * others have less than `least`.
 */
export function best(
  candidates: readonly number[],
  most: number,
  score: (candidate: number) => number,
  least = -Infinity,
): Choice {
  const scored = candidates.map((candidate) => ({ candidate, score: numberOf(score(candidate)) }))
  scored.sort((a, b) => compare(b.score, a.score) || a.candidate - b.candidate)
  const wanted = scored.filter((x) => x.score >= least).length
  const n = Math.min(most, wanted)
  const [worst, next] = [scored[n - 1], scored[n]]
  const ofRank = !worst || !next ? Infinity : worst.score === next.score ? 0 : worst.score - next.score
  const ofLeast = [worst, next].map((x) => (x && least > -Infinity ? Math.abs(x.score - least) : Infinity))
  return {
    taken: scored
      .slice(0, n)
      .map(({ candidate }) => candidate)
      .sort((a, b) => a - b),
    margin: wanted >= most ? Math.min(ofRank, ofLeast[0]!) : Math.min(...ofLeast),
  }
}

function numberOf(score: number): number {
  return Number.isNaN(score) ? -Infinity : score
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1
}
