// One job, one child process, one sample.
import type { ContextOptions, DecodeKeys, ModelOptions } from '../../index.js'
import { resolvedH2o } from '../../options.js'
import { planPrefill } from '../../prefill-plan.js'
import { ChildError, runChild } from './child.js'
import type { BenchFlags } from './options.js'
import type { Job } from './plan.js'
import type { Profile, Sample } from './sample.js'
import type { PrefillTask } from './worker.js'
import { workerPath } from './workload.js'

/**
 * Tokens of the prefill that comes before the measured one: it reads the weights from the disk and starts the threads.
 */
const WARMUP = 32

/** What all jobs of a run have in common. */
export interface Setup {
  model: ModelOptions
  /** int32 ids */
  tokens: string
  /** the programs stock-bench and h2o-bench */
  stock: string
  native: string
  warmup: boolean
  typeK: BenchFlags['cacheTypeK']
  typeV: BenchFlags['cacheTypeV']
  /** The defaults of the policy, unless given. */
  local?: number
  heavy?: number
  denseTail?: number
  decode?: DecodeKeys
}

export interface Measurer {
  measure(job: Job, signal: AbortSignal): Promise<Sample>
  /** Where the time goes, in a run of its own. */
  profile(job: Job, signal: AbortSignal): Promise<Profile>
}

export function measurer(setup: Setup): Measurer {
  return {
    measure: (job, signal) =>
      job.contender.program === 'addon'
        ? measureAddon(setup, job, signal)
        : measureNative(setup, job, signal),
    profile: async (job, signal) => {
      const { profile } = await runNative(setup, job, ['-r', '0', '--profile'], 'profile', signal)
      return profile as Profile
    },
  }
}

async function measureNative(setup: Setup, job: Job, signal: AbortSignal): Promise<Sample> {
  const result = await runNative(setup, job, [], 'ttftMs', signal)
  const { ttftMs, cpuMs, token, answerMs, answerCpuMs, peakRssBytes, h2o } = result
  return {
    ttftMs: ttftMs[0],
    cpuMs: cpuMs[0],
    token: token[0],
    answerMs: answerMs[0],
    answerCpuMs: answerCpuMs[0],
    peakRssBytes,
    path: h2o && h2o.sparseCalls > 0 ? 'h2o' : 'dense',
    addon: null,
  }
}

/** @throws ChildError where the program is another one: what it prints has no `wanted` */
async function runNative(
  setup: Setup,
  job: Job,
  more: string[],
  wanted: keyof NativeResult,
  signal: AbortSignal,
): Promise<NativeResult> {
  const program = programOf(setup, job)
  const result = await runChild(program, [...nativeArgv(setup, job), ...more], signal)
  if (typeof (result as NativeResult | null)?.[wanted] === 'object') return result as NativeResult
  const name = peerOf(job)
  throw new ChildError(`${program} prints no measurement`, {
    hint: `--${name} names the program that npm run bench:${name} makes`,
  })
}

/** What prefill-bench prints. Arrays have one entry per repetition; we ask for one. */
interface NativeResult {
  ttftMs: [number]
  cpuMs: [number | null]
  token: [number]
  answerMs: [number]
  answerCpuMs: [number | null]
  peakRssBytes: number | null
  h2o?: { sparseCalls: number }
  profile?: Profile
}

/** The native program of a job; a contender of the addon has its profile from its native twin. */
const peerOf = ({ contender }: Job) => (contender.program === 'stock' ? 'stock' : 'native')

const programOf = (setup: Setup, job: Job): string => setup[peerOf(job)]

export function nativeArgv(setup: Setup, job: Job): string[] {
  const { nPrompt, nGen, nBatch, nUbatch, nThreads, flashAttn, contender } = job
  const flags = {
    '-n': nPrompt,
    '-c': contextSize(job),
    '-b': nBatch,
    '-ub': nUbatch,
    '-t': nThreads,
    '-fa': flashAttn,
    '-ctk': setup.typeK,
    '-ctv': setup.typeV,
    '-ngl': setup.model.nGpuLayers ?? -1,
    '-w': setup.warmup ? WARMUP : 0,
    '--predict': nGen,
    ...(contender.schedule && h2oFlags(setup, job)),
  }
  return [setup.model.path, setup.tokens, ...Object.entries(flags).flatMap(([k, v]) => [k, String(v)])]
}

// the calls are those of the addon's prefill()
function h2oFlags(setup: Setup, job: Job) {
  const { nPrompt, nBatch, nUbatch, contender } = job
  const { local, heavy, decode } = setup
  const whole = nBatch > nUbatch ? nBatch - (nBatch % nUbatch) : nBatch
  return {
    '-b': whole,
    '--calls': planPrefill(nPrompt, whole, nUbatch, true, setup.denseTail ?? defaultTail(job)).join(','),
    ...(local !== undefined && { '--h2o-local': local }),
    ...(heavy !== undefined && { '--h2o-heavy': heavy }),
    ...(decode !== undefined && { '--h2o-decode': decode }),
    '--h2o-schedule': contender.schedule,
    '--h2o-select': contender.select,
  }
}

function defaultTail({ contender, nUbatch }: Job): number {
  const { select, schedule } = contender
  return resolvedH2o({ ...(select && { select }), ...(schedule && { schedule }) }, nUbatch).denseTail
}

async function measureAddon(setup: Setup, job: Job, signal: AbortSignal): Promise<Sample> {
  const task: PrefillTask = {
    kind: 'prefill',
    model: setup.model,
    tokens: setup.tokens,
    nPrompt: job.nPrompt,
    nGen: job.nGen,
    nWarmup: setup.warmup ? Math.min(WARMUP, job.nPrompt) : 0,
    context: addonContext(setup, job),
  }
  return (await runChild(process.execPath, [workerPath, JSON.stringify(task)], signal)) as Sample
}

function addonContext(setup: Setup, job: Job): Omit<ContextOptions, 'model'> {
  const { schedule, select } = job.contender
  const { local, heavy, denseTail, decode } = setup
  return {
    nCtx: contextSize(job),
    nBatch: job.nBatch,
    nUbatch: job.nUbatch,
    nThreads: job.nThreads,
    flashAttn: job.flashAttn,
    typeK: setup.typeK,
    typeV: setup.typeV,
    h2o: schedule && {
      schedule,
      ...(select && { select }),
      ...(local !== undefined && { local }),
      ...(heavy !== undefined && { heavy }),
      ...(denseTail !== undefined && { denseTail }),
      ...(decode !== undefined && { decode }),
    },
  }
}

// just enough, in the cells that a cache is made of; and more than a chunk: llama.cpp cuts -b down to the context
function contextSize({ nPrompt, nGen, nUbatch }: Job): number {
  return Math.ceil(Math.max(nPrompt + nGen - 1, nUbatch + 1) / 256) * 256
}
