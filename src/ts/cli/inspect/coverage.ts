// Where dense attention would have looked, and how much of that a memory set and its chunk hold.

/** Shares of the dense attention mass of a chunk's queries. own + local + heavy + lost = 1. */
export interface Shares {
  /** on the chunk itself */
  own: number
  local: number
  heavy: number
  /** on positions before the chunk that it does not see */
  lost: number
  /** own + local + heavy */
  coverage: number
  /** the most that a memory set of the same size could have covered, chosen in hindsight */
  oracle: number
  /** on the first positions of the prompt, wherever they count above */
  sink: number
}

export interface CoverageOptions {
  /** L */
  local: number
  /** positions at the begin of the prompt that are the attention sink */
  nSink: number
}

/**
 * `mass` holds what each position up to the chunk's end gets, from position 0 on; the chunk begins at `pos` and attended to
 * `memory`, ascending.
 */
export function coverage(
  mass: Float32Array,
  pos: number,
  memory: Int32Array,
  { local, nSink }: CoverageOptions,
): Shares {
  const total = sum(mass)
  const own = sum(mass.subarray(pos)) / total
  let [nearby, heavy] = [0, 0]
  for (const position of memory) {
    const value = mass[position] as number
    if (position < pos - local) heavy += value
    else nearby += value
  }
  nearby /= total
  heavy /= total
  const before = mass.subarray(0, pos)
  return {
    own,
    local: nearby,
    heavy,
    lost: Math.max(0, sum(before) / total - nearby - heavy),
    coverage: own + nearby + heavy,
    oracle: own + sum(largest(before, memory.length)) / total,
    sink: sum(mass.subarray(0, nSink)) / total,
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
