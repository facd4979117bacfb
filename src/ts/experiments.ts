/** Variants of how heavy hitters are voted for and kept (docs/experiments.md). All of them are off by default. */

import { invalidArgument } from './errors.js'
import type { Schedule } from './types.js'
import { boolean, integer } from './validate.js'

export interface Experiments {
  /** The first so many positions are always members of the memory set, in places of heavy: 0 */
  sink?: number
  /** Only the last so many queries of each chunk vote: 0, all of them */
  voteWindow?: number
  /** A query's votes count by its share in the fused softmax. 'single-pass' only: false */
  voteFused?: boolean
  /** Initial scores are per query that sees the key: false */
  voteCausal?: boolean
  /** Selection compares scores per chunk that could have voted: false */
  voteMean?: boolean
  /** Scores of the memory are multiplied by it before each chunk's votes are added: 1 */
  decay?: number
  /** The last so many tokens of a prompt go in calls of at most nUbatch tokens, which are dense: 0 */
  denseTail?: number
}

export const noExperiments: Readonly<Required<Experiments>> = {
  sink: 0,
  voteWindow: 0,
  voteFused: false,
  voteCausal: false,
  voteMean: false,
  decay: 1,
  denseTail: 0,
}

const names = Object.keys(noExperiments) as (keyof Experiments)[]
const maxInt = 2 ** 31 - 1

export function checkExperiments(given: Experiments | undefined, schedule: Schedule): Required<Experiments> {
  if (given === undefined) return { ...noExperiments }
  if (given === null || typeof given !== 'object') {
    throw invalidArgument('experiments must be an object of options', { experiments: given })
  }
  // a misspelt one would measure the plain method
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(noExperiments, name))
  if (unknown !== undefined) {
    throw invalidArgument(`there is no experiment '${unknown}', only ${names.join(', ')}`, { unknown })
  }
  const checked = {
    sink: integer('sink', given.sink, 0, 0, maxInt),
    voteWindow: integer('voteWindow', given.voteWindow, 0, 0, maxInt),
    voteFused: boolean('voteFused', given.voteFused, false),
    voteCausal: boolean('voteCausal', given.voteCausal, false),
    voteMean: boolean('voteMean', given.voteMean, false),
    decay: decay(given.decay),
    denseTail: integer('denseTail', given.denseTail, 0, 0, maxInt),
  }
  if (checked.voteFused && schedule === 'two-pass') {
    throw invalidArgument(
      'voteFused needs the single-pass schedule: two-pass sums the votes of a chunk before their shares are known',
      { voteFused: true, schedule },
    )
  }
  return checked
}

// native code computes in 32 bits, where a smaller one is 0
function decay(value: unknown): number {
  if (value === undefined) return 1
  if (typeof value !== 'number' || !(Math.fround(value) > 0 && value <= 1)) {
    throw invalidArgument('decay must be a number above 0 and at most 1', { decay: value })
  }
  return value
}

/** Those that are on. */
export function activeExperiments(experiments: Experiments): Experiments {
  return Object.fromEntries(
    names
      .map((name) => [name, experiments[name]] as const)
      .filter(([name, value]) => value !== undefined && value !== noExperiments[name]),
  )
}
