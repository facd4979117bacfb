// Runs the groups of a plan: every repetition measures each job once, so that contenders alternate.
import type { Measurer } from './measure.js'
import { type Group, type Job, rotated } from './plan.js'
import { bestStock, type Measured, medianOf, type Row, rowsOf, type Timing } from './rows.js'
import type { Profile, Sample } from './sample.js'

export interface RunnerOptions {
  repetitions: number
  /** leave out settings of stock that took so many times as long as its best; 0: none */
  prune: number
  /** whether a job gets a profile, after all repetitions */
  wantsProfile(job: Job): boolean
  signal: AbortSignal
  /** after each measurement */
  onProgress(event: { job: Job; repetition: number; sample: Sample }): void
  /** a contender that is given up for this group */
  onFailure(job: Job, error: unknown): void
}

/** Gives the rows of one group after the other. */
export async function* runGroups(
  groups: readonly Group[],
  measurer: Measurer,
  options: RunnerOptions,
): AsyncGenerator<Row[], void, void> {
  for (const group of groups) yield rowsOf(await runGroup(group, measurer, options))
}

interface Running extends Measured {
  samples: Map<number, Sample>
  profile?: Profile
}

async function runGroup(group: Group, measurer: Measurer, options: RunnerOptions): Promise<Measured[]> {
  const { repetitions, prune, wantsProfile, signal, onProgress } = options
  const all: Running[] = group.jobs.map((job) => ({ job, samples: new Map() }))
  let left = all

  // what fails once is not tried again; the others go on
  const attempt = async <T>(one: Running, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      left = left.filter((other) => other !== one)
      options.onFailure(one.job, error)
      return undefined
    }
  }

  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (const one of rotated(left, repetition)) {
      const sample = await attempt(one, () => measurer.measure(one.job, signal))
      if (!sample) continue
      one.samples.set(repetition, sample)
      onProgress({ job: one.job, repetition, sample })
    }
    if (repetition === 0 && prune > 0) left = withoutSlowStock(left, prune)
  }
  for (const one of left.filter(({ job }) => wantsProfile(job))) {
    const profile = await attempt(one, () => measurer.profile(one.job, signal))
    if (profile) one.profile = profile
  }
  return all
}

function withoutSlowStock(running: Running[], factor: number): Running[] {
  const timings: Timing[] = ['ttftMs', 'cpuMs', 'requestMs']
  const isSlow = (one: Measured, timing: Timing) => {
    const best = bestStock(running, timing)
    const [own, other] = [medianOf(one, timing), best && medianOf(best, timing)]
    return own === undefined || other === undefined || own > factor * other
  }
  return running.filter(
    (one) => one.job.contender.program !== 'stock' || timings.some((timing) => !isSlow(one, timing)),
  )
}
