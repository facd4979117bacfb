// Jobs and samples for tests of the benchmark, and a measurer that takes its times from a table.
import { type Contender, contenders } from '../../../src/ts/cli/bench/contenders.js'
import type { Measurer } from '../../../src/ts/cli/bench/measure.js'
import { describeJob, type Job } from '../../../src/ts/cli/bench/plan.js'
import type { Profile, Sample } from '../../../src/ts/cli/bench/sample.js'

export function contender(name: string): Contender {
  const found = contenders.find((one) => one.name === name)
  if (!found) throw new Error(`no contender ${name}`)
  return found
}

export function job(name: string, nUbatch = 512, nPrompt = 4096, nGen = 1): Job {
  const sizes = { nPrompt, nGen, nBatch: 2048, nUbatch }
  return { contender: contender(name), ...sizes, nThreads: 2, flashAttn: 'on' }
}

export function sample(ttftMs: number, cpuMs: number | null = 2 * ttftMs, answerMs = 0): Sample {
  const answer = { answerMs, answerCpuMs: 2 * answerMs }
  return { ttftMs, cpuMs, token: 7, ...answer, peakRssBytes: 100 * 2 ** 20, path: 'dense', addon: null }
}

export function addonSample(ttftMs: number): Sample {
  const addon = {
    baseRssBytes: 50 * 2 ** 20,
    reason: null,
    chunks: 8,
    denseTail: 0,
    calls: [2048, 2048],
    local: 256,
    heavy: 255,
    h2oBytes: 2 ** 19,
    kvBytes: 2 ** 26,
    computeBytes: 2 ** 27,
    sparseGraphNodes: 1000,
    predictedSparse: 0,
    warnings: [],
  }
  return { ...sample(ttftMs), path: 'h2o', addon }
}

export const profile: Profile = {
  plainMs: 900,
  totalMs: 1000,
  partsMs: { linear: 600, intra: 100, inter: 50, selection: 20, attention: 30, other: 100 },
}

/** Times by job, one per repetition; an Error is thrown. `ran` holds the order of the runs. */
export function tableMeasurer(table: Record<string, (number | Error)[]>) {
  const ran: string[] = []
  const next = (job: Job, kind: string) => {
    const name = describeJob(job)
    ran.push(kind + name)
    return name
  }
  const measurer: Measurer = {
    async measure(job) {
      const name = next(job, '')
      const value = table[name]?.[ran.filter((other) => other === name).length - 1]
      if (value === undefined) throw new Error(`${name} was not to run`)
      if (value instanceof Error) throw value
      return job.contender.program === 'addon' ? addonSample(value) : sample(value)
    },
    async profile(job) {
      next(job, 'profile ')
      return profile
    },
  }
  return { measurer, ran }
}
