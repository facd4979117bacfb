// Where dense attention would have looked, and how much of that a memory set and its chunk hold.

/** Shares of the dense attention mass of some queries. own + local + heavy + lost = 1. */
export interface Shares {
  /** on the chunk itself */
  own: number
  local: number
  heavy: number
  /** on positions before the chunk that it does not see */
  lost: number
  /** own + local + heavy */
  coverage: number
  /** the most that a memory set of the same size could have covered, chosen in hindsight for these queries */
  oracle: number
  /** on the first positions of the prompt, wherever they count above */
  sink: number
}

export interface CoverageOptions {
  /** L */
  local: number
  /** the last positions before the chunk that were seen besides the memory set: 0 */
  nNear?: number
  /** positions at the begin of the prompt that are the attention sink */
  nSink: number
}

/**
 * `mass` holds what each position up to the chunk's end gets, from position 0 on; the chunk begins at `pos` and
 * attended to `memory`, ascending.
 */
export function coverage(
  mass: Float32Array,
  pos: number,
  memory: Int32Array,
  { local, nSink, nNear = 0 }: CoverageOptions,
): Shares {
  const total = sum(mass)
  const own = sum(mass.subarray(pos)) / total
  const before = mass.subarray(0, pos)
  const candidates = before.subarray(0, pos - nNear)
  const near = sum(before.subarray(pos - nNear)) / total
  let [nearby, heavy] = [0, 0]
  for (const position of memory) {
    const value = mass[position] as number
    if (position < pos - local) heavy += value
    else nearby += value
  }
  nearby = near + nearby / total
  heavy /= total
  return {
    own,
    local: nearby,
    heavy,
    lost: Math.max(0, sum(before) / total - nearby - heavy),
    coverage: own + nearby + heavy,
    oracle: own + near + sum(largest(candidates, memory.length)) / total,
    sink: sum(mass.subarray(0, nSink)) / total,
  }
}

/** Of queries that are in several parts: means, weighted by how many each part has. */
export function combined(parts: readonly { shares: Shares; n: number }[]): Shares {
  const total = parts.reduce((all, { n }) => all + n, 0)
  const mean = (name: keyof Shares) =>
    parts.reduce((all, { shares, n }) => all + (n / total) * shares[name], 0)
  return {
    own: mean('own'),
    local: mean('local'),
    heavy: mean('heavy'),
    lost: mean('lost'),
    coverage: mean('coverage'),
    oracle: mean('oracle'),
    sink: mean('sink'),
  }
}

/** The n largest values, in any order. */
function largest(values: Float32Array, n: number): Float32Array {
  return values
    .slice()
    .sort()
    .subarray(Math.max(0, values.length - n))
}

function sum(values: Float32Array): number {
  let total = 0
  for (const value of values) total += value
  return total
}
