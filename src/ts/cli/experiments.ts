// The flags of the experiments (docs/experiments.md), for every command that takes them: their rows in the tables of
// options, what they become, and how they are reported.

import { activeExperiments, type Experiments } from '../experiments.js'
import { combinations } from './combinations.js'
import { integers, shares } from './lists.js'
import type { OptionSpec } from './options.js'
import { integer, share } from './parsers.js'

export interface ExperimentFlags {
  h2oSink?: number
  h2oVoteWindow?: number
  h2oVoteFused?: boolean
  h2oVoteCausal?: boolean
  h2oVoteMean?: boolean
  h2oDecay?: number
  h2oDenseTail?: number
}

type Switches = Pick<ExperimentFlags, 'h2oVoteFused' | 'h2oVoteCausal' | 'h2oVoteMean'>

/** Numbers as lists: every combination is meant. */
export type ExperimentListFlags = Switches & {
  [Name in Exclude<keyof ExperimentFlags, keyof Switches>]?: number[]
}

/** The rows, with one value to a flag or with lists. */
export function experimentOptions(kind: 'value' | 'list'): OptionSpec[] {
  const group = 'Experiments (docs/experiments.md; all are off by default):'
  const lists = kind === 'list'
  const count = { group, value: lists ? 'LIST' : 'N', parse: lists ? integers(0) : integer(0) }
  const factor = { group, value: lists ? 'LIST' : 'X', parse: lists ? shares : share }
  // biome-ignore format: a table
  return [
    { ...count, names: ['--h2o-sink'], help: 'first positions that are always remembered, in places of --h2o-heavy' },
    { ...count, names: ['--h2o-vote-window'], help: 'only the last queries of a chunk vote, so many; 0 = all' },
    { group, names: ['--h2o-vote-fused'], help: 'votes count by their share in the fused softmax (single-pass only)' },
    { group, names: ['--h2o-vote-causal'], help: 'initial scores per query that sees the key' },
    { group, names: ['--h2o-vote-mean'], help: 'scores are compared per chunk that could have voted' },
    { ...factor, names: ['--h2o-decay'], help: 'factor of the old scores at each chunk, above 0 up to 1; 1 = none' },
    { ...count, names: ['--h2o-dense-tail'], help: 'tokens at the end of the prompt that are prefilled densely' },
  ]
}

/** Those that are on. */
export function experimentsOf(flags: ExperimentFlags): Experiments {
  return activeExperiments({
    sink: flags.h2oSink,
    voteWindow: flags.h2oVoteWindow,
    voteFused: flags.h2oVoteFused,
    voteCausal: flags.h2oVoteCausal,
    voteMean: flags.h2oVoteMean,
    decay: flags.h2oDecay,
    denseTail: flags.h2oDenseTail,
  } as Experiments)
}

/** Every combination of the lists. */
export function experimentCombinations(flags: ExperimentListFlags): Experiments[] {
  const { h2oDenseTail, h2oSink, h2oVoteWindow, h2oDecay, ...switches } = flags
  return combinations({ h2oDenseTail, h2oSink, h2oVoteWindow, h2oDecay }).map((chosen) =>
    experimentsOf({ ...switches, ...chosen } as ExperimentFlags),
  )
}

/** `{ vote_window: 64, vote_fused: true }` for --json; undefined where none is on. */
export function experimentsJson(
  experiments: Experiments | undefined,
): Record<string, number | boolean> | undefined {
  const entries = Object.entries(activeExperiments(experiments ?? {}))
  if (entries.length === 0) return undefined
  return Object.fromEntries(
    entries.map(([name, value]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]),
  )
}

/** ` vote-window=64 vote-fused`; empty where none is on. */
export function describeExperiments(json: Record<string, number | boolean> | undefined): string {
  return Object.entries(json ?? {})
    .map(([name, value]) => ` ${name.replaceAll('_', '-')}${value === true ? '' : `=${value}`}`)
    .join('')
}
