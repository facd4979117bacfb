// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// Which positions a chunk finds in its memory (src/native/h2o/README.md, rule 3), for one layer and one KV head;
// and whether a set that somebody else chose is a right one.

/** Position to score. A position that is not in here was never scored, or was forgotten. */
export type Scores = ReadonlyMap<number, number>

export interface Budget {
  /** the last L positions are always kept */
  L: number
  /** so many others are kept by score */
  H: number
}

/**
 * The memory set of a chunk that begins at position p, ascending: the last L positions before p, then the top H of
 * what `tracked` scores, ties to the lower position, then the lowest other positions until min(p, L + H) are there.
 */
export function selectMemory(p: number, budget: Budget, tracked: Scores): number[] {
  const { L, H } = budget
  const local = new Set<number>()
  for (let j = Math.max(0, p - L); j < p; j++) local.add(j)

  const heavy = heavyCandidates(p, L, tracked)
    .sort((a, b) => rank(tracked.get(b)) - rank(tracked.get(a)) || a - b)
    .slice(0, H)

  const memory = new Set([...local, ...heavy])
  for (let j = 0; j < p && memory.size < Math.min(p, L + H); j++) memory.add(j)
  return [...memory].sort((a, b) => a - b)
}

/** The positions that compete for Heavy by score. */
function heavyCandidates(p: number, L: number, tracked: Scores): number[] {
  return [...tracked.keys()].filter((j) => j < p - L)
}

/** NaN counts as the lowest score there is. (A finite stand-in for -inf, so that differences stay numbers.) */
function rank(score: number | undefined): number {
  return score === undefined || Number.isNaN(score) ? -Number.MAX_VALUE : score
}

/**
 * What is wrong with a memory set, in words; empty if it is a right one. `tracked` is what the selection could choose
 * by. A Heavy member may score lower than a position left out by at most `tol`, relative to the larger of the two.
 * With tol = 0 the scores are taken as exact and the tie rule is checked too: give the chooser's own scores then.
 */
export function checkSelection(
  set: ArrayLike<number>,
  tracked: Scores,
  { p, ...budget }: Budget & { p: number },
  tol: number,
): string[] {
  const { L, H } = budget
  const problems: string[] = []
  const members = Array.from(set)
  const chosen = new Set(members)

  if (members.some((j, i) => i > 0 && j <= members[i - 1]!)) problems.push('not ascending or not unique')
  if (members.some((j) => !(j >= 0 && j < p))) problems.push(`has positions outside [0, ${p})`)
  const nMembers = Math.min(p, L + H)
  if (members.length !== nMembers) problems.push(`holds ${members.length}, not ${nMembers}`)
  for (let j = Math.max(0, p - L); j < p; j++) if (!chosen.has(j)) problems.push(`lacks local position ${j}`)

  const candidates = heavyCandidates(p, L, tracked)
  if (candidates.length < H) {
    const right = selectMemory(p, budget, tracked)
    if (right.some((j, i) => j !== members[i]))
      problems.push(`is filled up wrongly: ${members}, not ${right}`)
    return problems
  }

  const scored = new Set(candidates)
  for (const j of members) if (j < p - L && !scored.has(j)) problems.push(`has ${j}, which was no candidate`)
  // the weakest member, the higher position on a tie, against the strongest candidate left out, the lower position
  const [weakest] = candidates
    .filter((j) => chosen.has(j))
    .sort((a, b) => rank(tracked.get(a)) - rank(tracked.get(b)) || b - a)
  const [strongest] = candidates
    .filter((j) => !chosen.has(j))
    .sort((a, b) => rank(tracked.get(b)) - rank(tracked.get(a)) || a - b)
  if (weakest !== undefined && strongest !== undefined) {
    const kept = rank(tracked.get(weakest))
    const left = rank(tracked.get(strongest))
    const wrongTie = tol === 0 && left === kept && strongest < weakest
    if (left - kept > tol * Math.max(Math.abs(left), Math.abs(kept)) || wrongTie) {
      problems.push(`keeps ${weakest} (score ${kept}) and leaves out ${strongest} (score ${left})`)
    }
  }
  return problems
}

/** The members of a memory set that are there by score, not by being among the last L positions before p. */
export function heavyOf(memory: ArrayLike<number>, p: number, L: number): number[] {
  return Array.from(memory).filter((j) => j < p - L)
}

/** The share of `next` that is not in `previous`, 0 to 1: how much of Heavy is new. 0 if `next` is empty. */
export function heavyTurnover(previous: ArrayLike<number>, next: ArrayLike<number>): number {
  const before = new Set(Array.from(previous))
  return next.length === 0 ? 0 : Array.from(next).filter((j) => !before.has(j)).length / next.length
}
