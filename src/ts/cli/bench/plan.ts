// Which measurements a command line asks for: groups of jobs that are compared with each other.
import type { FlashAttn } from '../../index.js'
import { defaultThreads } from '../../threads.js'
import { type Contender, defaultContenders } from './contenders.js'
import type { BenchFlags } from './options.js'

/** One contender with one setting; what a child process measures. */
export interface Job {
  contender: Contender
  nPrompt: number
  /** tokens of the answer */
  nGen: number
  nBatch: number
  nUbatch: number
  nThreads: number
  flashAttn: FlashAttn
}

/**
 * Jobs on the same prompt with the same threads. Their runs alternate, and the best of stock's is what all are compared
 * with.
 */
export interface Group {
  nPrompt: number
  nThreads: number
  jobs: Job[]
}

type PlanFlags = Pick<
  BenchFlags,
  'nPrompt' | 'nGen' | 'threads' | 'batchSize' | 'ubatchSize' | 'stockUbatchSize' | 'flashAttn' | 'contenders'
>

export function planGroups(flags: PlanFlags): Group[] {
  const threads = flags.threads ?? [defaultThreads()]
  return threads.flatMap((nThreads) =>
    flags.nPrompt.map((nPrompt) => ({ nPrompt, nThreads, jobs: jobsOf(flags, nPrompt, nThreads) })),
  )
}

function jobsOf(flags: PlanFlags, nPrompt: number, nThreads: number): Job[] {
  const jobs = new Map<string, Job>()
  for (const contender of flags.contenders ?? defaultContenders) {
    const ubatches = contender.program === 'stock' ? flags.stockUbatchSize : flags.ubatchSize
    const flashAttn = contender.flashAttn ?? flags.flashAttn
    for (const nBatch of flags.batchSize) {
      for (const nUbatch of ubatches) {
        // llama.cpp lowers a -ub above -b; what comes to the same is measured once
        const sizes = { nPrompt, nGen: flags.nGen, nBatch, nUbatch: Math.min(nUbatch, nBatch) }
        const job = { contender, ...sizes, nThreads, flashAttn }
        jobs.set(`${contender.name} ${nBatch} ${job.nUbatch}`, job)
      }
    }
  }
  return [...jobs.values()]
}

/** The order of one repetition: each begins one job further, so that none always follows the same one. */
export function rotated<T>(items: readonly T[], by: number): T[] {
  const at = items.length > 0 ? by % items.length : 0
  return [...items.slice(at), ...items.slice(0, at)]
}

export function describeJob({ contender, nBatch, nUbatch }: Job): string {
  return `${contender.name} -b ${nBatch} -ub ${nUbatch}`
}
