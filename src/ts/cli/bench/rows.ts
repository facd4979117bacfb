// What a group of measurements comes to: one row per job. The names are permanent: scripts and plots read them.

import { pairedRatio, type Spread, spread } from '../statistics.js'
import { describeJob, type Job } from './plan.js'
import { type Profile, type ProfilePart, profileParts, type Sample } from './sample.js'

export interface Row {
  n_prompt: number
  contender: string
  n_batch: number
  n_ubatch: number
  n_threads: number
  flash_attn: string
  /** repetitions that were measured */
  n: number
  ttft_ms: Spread
  tokens_per_second: number
  cpu_ms: Spread | null
  /** highest of all repetitions; with Node in it for the addon's contenders */
  peak_rss_bytes: number | null
  /** resident before the addon was loaded; null for stock */
  base_rss_bytes: number | null
  path: string
  reason: string | null
  chunks: number
  dense_tail: number
  calls: number[] | null
  h2o: { local: number; heavy: number } | null
  h2o_bytes: number | null
  kv_bytes: number | null
  compute_bytes: number | null
  sparse_graph_nodes: number | null
  first_token: number
  /** paired ratios to the base (baseOf); null where there is none */
  speedup: Spread | null
  cpu_speedup: Spread | null
  /** what it is compared with */
  against: string | null
  /** where the time went, in a run of its own; null if that was not asked for */
  profile: ProfileShares | null
  samples: { repetition: number; ttft_ms: number; cpu_ms: number | null }[]
}

export interface ProfileShares {
  /** of total_ms; what is not inside a graph counts as other */
  shares: Record<ProfilePart, number>
  /** that run's time to first token, and the same without profiling, right before it */
  total_ms: number
  plain_ms: number
}

/** The samples of one job, by repetition. */
export interface Measured {
  job: Job
  samples: ReadonlyMap<number, Sample>
  profile?: Profile | undefined
}

export function rowsOf(group: readonly Measured[]): Row[] {
  const measured = group.filter(({ samples }) => samples.size > 0)
  const base = baseOf(measured)
  return measured.map((one) => rowOf(one, base))
}

/** What speed-ups are to: the best setting of stock, or of our own dense attention where stock was not measured. */
function baseOf(group: readonly Measured[]): Measured | undefined {
  return bestStock(group) ?? bestOf(group.filter(({ job }) => job.contender.name === 'dense'))
}

export function bestStock(group: readonly Measured[]): Measured | undefined {
  return bestOf(group.filter(({ job }) => job.contender.program === 'stock'))
}

/** Of those that were measured most often, so not pruned, the one of the lowest median. */
function bestOf(group: readonly Measured[]): Measured | undefined {
  const most = Math.max(1, ...group.map(({ samples }) => samples.size))
  const ttft = (one: Measured) => medianOf(one, 'ttftMs') ?? Number.POSITIVE_INFINITY
  return group.filter(({ samples }) => samples.size === most).sort((a, b) => ttft(a) - ttft(b))[0]
}

export function medianOf(measured: Measured, name: Timing): number | undefined {
  return spread([...valuesOf(measured, name).values()])?.median
}

function rowOf(measured: Measured, base: Measured | undefined): Row {
  const { job, samples, profile } = measured
  const all = [...samples.values()]
  const { addon, token, path } = all[0] as Sample
  const ttft = spread(all.map(({ ttftMs }) => ttftMs)) as Spread
  return {
    n_prompt: job.nPrompt,
    contender: job.contender.name,
    n_batch: job.nBatch,
    n_ubatch: job.nUbatch,
    n_threads: job.nThreads,
    flash_attn: job.flashAttn,
    n: all.length,
    ttft_ms: ttft,
    tokens_per_second: (job.nPrompt * 1000) / ttft.median,
    cpu_ms: spread(all.flatMap(({ cpuMs }) => cpuMs ?? [])) ?? null,
    peak_rss_bytes: highest(all.map(({ peakRssBytes }) => peakRssBytes)),
    base_rss_bytes: highest(all.map((sample) => sample.addon?.baseRssBytes ?? null)),
    path,
    reason: addon?.reason ?? null,
    chunks: addon?.chunks ?? 0,
    dense_tail: addon?.denseTail ?? 0,
    calls: addon?.calls ?? null,
    h2o: addon && job.contender.schedule ? { local: addon.local, heavy: addon.heavy } : null,
    h2o_bytes: addon?.h2oBytes ?? null,
    kv_bytes: addon?.kvBytes ?? null,
    compute_bytes: addon?.computeBytes ?? null,
    sparse_graph_nodes: addon?.sparseGraphNodes ?? null,
    first_token: token,
    speedup: (base && pairedRatio(valuesOf(base, 'ttftMs'), valuesOf(measured, 'ttftMs'))) ?? null,
    cpu_speedup: (base && pairedRatio(valuesOf(base, 'cpuMs'), valuesOf(measured, 'cpuMs'))) ?? null,
    against: base ? describeJob(base.job) : null,
    profile: profile ? sharesOf(profile) : null,
    samples: [...samples].map(([repetition, { ttftMs, cpuMs }]) => ({
      repetition,
      ttft_ms: ttftMs,
      cpu_ms: cpuMs,
    })),
  }
}

function sharesOf({ plainMs, totalMs, partsMs }: Profile): ProfileShares {
  const shares = Object.fromEntries(profileParts.map((part) => [part, partsMs[part] / totalMs]))
  const inGraphs = Object.values(shares).reduce((sum, share) => sum + share, 0)
  const other = (shares.other ?? 0) + Math.max(0, 1 - inGraphs)
  return {
    shares: { ...shares, other } as Record<ProfilePart, number>,
    total_ms: totalMs,
    plain_ms: plainMs,
  }
}

type Timing = 'ttftMs' | 'cpuMs'

function valuesOf({ samples }: Measured, name: Timing): Map<number, number> {
  return new Map(
    [...samples].flatMap(([repetition, sample]) => {
      const value = sample[name]
      return value === null ? [] : [[repetition, value] as [number, number]]
    }),
  )
}

function highest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length > 0 ? Math.max(...known) : null
}
