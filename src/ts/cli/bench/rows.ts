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
  /** tokens of the answer; the times of all but the first */
  n_gen: number
  answer_ms: Spread | null
  answer_cpu_ms: Spread | null
  answer_tokens_per_second: number | null
  /** how many of them by sparse decoding */
  predicted_sparse: number
  /** prompt and answer */
  request_ms: Spread
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
  /** of prompt and answer, to what takes least for both */
  request_speedup: Spread | null
  request_against: string | null
  /** what it is compared with */
  against: string | null
  /** where the time went, in a run of its own; null if that was not asked for */
  profile: ProfileShares | null
  samples: {
    repetition: number
    ttft_ms: number
    cpu_ms: number | null
    answer_ms: number
    answer_cpu_ms: number | null
  }[]
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
  const bases = { prompt: baseOf(measured, 'ttftMs'), request: baseOf(measured, 'requestMs') }
  return measured.map((one) => rowOf(one, bases))
}

/** What speed-ups are to: the best setting of stock, or of our own dense attention where stock was not measured. */
function baseOf(group: readonly Measured[], timing: Timing): Measured | undefined {
  const ours = group.filter(({ job }) => job.contender.name === 'dense')
  return bestStock(group, timing) ?? bestOf(ours, timing)
}

export function bestStock(group: readonly Measured[], timing: Timing): Measured | undefined {
  return bestOf(
    group.filter(({ job }) => job.contender.program === 'stock'),
    timing,
  )
}

/** Of those that were measured most often, so not pruned, the one of the lowest median. */
function bestOf(group: readonly Measured[], timing: Timing): Measured | undefined {
  const most = Math.max(1, ...group.map(({ samples }) => samples.size))
  const median = (one: Measured) => medianOf(one, timing) ?? Number.POSITIVE_INFINITY
  return group.filter(({ samples }) => samples.size === most).sort((a, b) => median(a) - median(b))[0]
}

export function medianOf(measured: Measured, name: Timing): number | undefined {
  return spread([...valuesOf(measured, name).values()])?.median
}

type Bases = Record<'prompt' | 'request', Measured | undefined>

function rowOf(measured: Measured, bases: Bases): Row {
  const { job, samples, profile } = measured
  const all = [...samples.values()]
  const { addon, token, path } = all[0] as Sample
  const of = (name: Timing) => spread([...valuesOf(measured, name).values()]) ?? null
  const ratio = (base: Measured | undefined, name: Timing) =>
    (base && pairedRatio(valuesOf(base, name), valuesOf(measured, name))) ?? null
  const ttft = of('ttftMs') as Spread
  const answer = job.nGen > 1 ? of('answerMs') : null
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
    cpu_ms: of('cpuMs'),
    n_gen: job.nGen,
    answer_ms: answer,
    answer_cpu_ms: answer && of('answerCpuMs'),
    answer_tokens_per_second: answer && ((job.nGen - 1) * 1000) / answer.median,
    predicted_sparse: addon?.predictedSparse ?? 0,
    request_ms: of('requestMs') as Spread,
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
    speedup: ratio(bases.prompt, 'ttftMs'),
    cpu_speedup: ratio(bases.prompt, 'cpuMs'),
    against: bases.prompt ? describeJob(bases.prompt.job) : null,
    request_speedup: ratio(bases.request, 'requestMs'),
    request_against: bases.request ? describeJob(bases.request.job) : null,
    profile: profile ? sharesOf(profile) : null,
    samples: [...samples].map(([repetition, sample]) => ({
      repetition,
      ttft_ms: sample.ttftMs,
      cpu_ms: sample.cpuMs,
      answer_ms: sample.answerMs,
      answer_cpu_ms: sample.answerCpuMs,
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

export type Timing = 'ttftMs' | 'cpuMs' | 'answerMs' | 'answerCpuMs' | 'requestMs'

const timingOf = (sample: Sample, name: Timing) =>
  name === 'requestMs' ? sample.ttftMs + sample.answerMs : sample[name]

function valuesOf({ samples }: Measured, name: Timing): Map<number, number> {
  return new Map(
    [...samples].flatMap(([repetition, sample]) => {
      const value = timingOf(sample, name)
      return value === null ? [] : [[repetition, value] as [number, number]]
    }),
  )
}

function highest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length > 0 ? Math.max(...known) : null
}
