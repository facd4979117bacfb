// The flags of `run`, and the one place where they become options of the API.
import type {
  ContextOptions,
  GenerateOptions,
  H2oWarning,
  KvType,
  Model,
  RopeOptions,
  Schedule,
  Selection,
} from '../index.js'
import { defaultThreads } from '../threads.js'
import type { ModelFlags } from './model-flags.js'
import type { PromptCacheFlags } from './prompt-cache.js'
import { type SamplingFlags, samplingOptions } from './sampling-flags.js'
import { UsageError } from './usage-error.js'

export interface RunFlags extends ModelFlags, PromptCacheFlags, SamplingFlags {
  model?: string
  prompt?: string
  file?: string
  escape: boolean
  conversation?: boolean
  systemPrompt?: string
  chatTemplate?: string
  chatTemplateFile?: string
  ctxSize?: number
  batchSize: number
  ubatchSize: number
  threads?: number
  threadsBatch?: number
  flashAttn: 'on' | 'off' | 'auto'
  cacheTypeK: KvType
  cacheTypeV: KvType
  swaFull?: boolean
  upstreamProducts?: boolean
  ropeScaling?: 'none' | 'linear' | 'yarn'
  ropeScale?: number
  ropeFreqBase?: number
  ropeFreqScale?: number
  yarnOrigCtx?: number
  yarnExtFactor?: number
  yarnAttnFactor?: number
  yarnBetaSlow?: number
  yarnBetaFast?: number
  kvOffload?: boolean
  listDevices?: boolean
  predict: number
  seed: number
  temp: number
  topK: number
  topP: number
  minP: number
  reversePrompt?: string[]
  ignoreEos?: boolean
  h2oLocal?: number
  h2oHeavy?: number
  h2oSchedule: Schedule
  h2oSelect?: Selection
  h2oDenseTail?: number
  h2oDecode?: number | 'auto'
  h2o: boolean
  json?: boolean
  verbose?: boolean
}

/** With -n -1 and no -c, the context has room for this many tokens after the prompt. */
export const ROOM_WITHOUT_LIMIT = 4096

export type ContextFlags = ContextSizeFlags &
  Pick<
    RunFlags,
    | 'batchSize'
    | 'threads'
    | 'threadsBatch'
    | 'flashAttn'
    | 'cacheTypeK'
    | 'cacheTypeV'
    | 'swaFull'
    | 'upstreamProducts'
    | 'kvOffload'
    | keyof RopeFlags
    | 'h2o'
    | 'h2oLocal'
    | 'h2oHeavy'
    | 'h2oSchedule'
    | 'h2oSelect'
    | 'h2oDenseTail'
    | 'h2oDecode'
  >

/** @throws UsageError for --h2o-decode with --no-h2o: all would be read */
export function contextOptions(
  flags: ContextFlags,
  model: Model,
  nPrompt: number,
  onWarning: (warning: H2oWarning) => void,
): ContextOptions {
  if (!flags.h2o && flags.h2oDecode) {
    throw new UsageError('--h2o-decode is for contexts with H2O', 'leave --no-h2o out')
  }
  return {
    model,
    nCtx: contextSize(flags, nPrompt, model.nCtxTrain),
    nBatch: flags.batchSize,
    nUbatch: flags.ubatchSize,
    ...threadCounts(flags),
    flashAttn: flags.flashAttn,
    typeK: flags.cacheTypeK,
    typeV: flags.cacheTypeV,
    swaFull: flags.swaFull ?? false,
    upstreamProducts: flags.upstreamProducts ?? false,
    kvOffload: flags.kvOffload ?? true,
    rope: ropeOptions(flags),
    h2o: flags.h2o && budget(flags),
    onWarning,
  }
}

type RopeFlags = Pick<
  RunFlags,
  | 'ropeScaling'
  | 'ropeScale'
  | 'ropeFreqBase'
  | 'ropeFreqScale'
  | 'yarnOrigCtx'
  | 'yarnExtFactor'
  | 'yarnAttnFactor'
  | 'yarnBetaSlow'
  | 'yarnBetaFast'
>

function ropeOptions(flags: RopeFlags): RopeOptions {
  const freqScale = flags.ropeFreqScale ?? (flags.ropeScale === undefined ? undefined : 1 / flags.ropeScale)
  return definedOnly({
    scaling: flags.ropeScaling,
    freqBase: flags.ropeFreqBase,
    freqScale,
    yarnOrigCtx: flags.yarnOrigCtx,
    yarnExtFactor: flags.yarnExtFactor,
    yarnAttnFactor: flags.yarnAttnFactor,
    yarnBetaSlow: flags.yarnBetaSlow,
    yarnBetaFast: flags.yarnBetaFast,
  })
}

function definedOnly<T extends object>(values: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T
}

export function generateOptions(flags: RunFlags): GenerateOptions {
  return {
    nPredict: Math.max(flags.predict, -1),
    temperature: Math.max(flags.temp, 0),
    topK: Math.max(flags.topK, 0),
    topP: flags.topP,
    minP: flags.minP,
    seed: flags.seed,
    stop: flags.reversePrompt ?? [],
    ignoreEos: flags.ignoreEos ?? false,
    ...samplingOptions(flags),
  }
}

/**
 * -c as given (0 = training context). Left out, it is enough for the prompt and -n, up to the training context. A call
 * can always hold more than one chunk: llama.cpp cuts -b down to the context, and the reason would be the wrong one.
 */
export function contextSize(flags: ContextSizeFlags, nPrompt: number, nCtxTrain: number): number {
  if (flags.ctxSize !== undefined) return flags.ctxSize
  const room = flags.predict < 0 ? ROOM_WITHOUT_LIMIT : flags.predict
  return Math.min(Math.max(nPrompt + room, flags.ubatchSize + 1), nCtxTrain)
}

type ContextSizeFlags = Pick<RunFlags, 'ctxSize' | 'predict' | 'ubatchSize'>

// what was not given stays out: the API clamps its own defaults silently and a given value with a warning
function budget(flags: ContextFlags): Exclude<ContextOptions['h2o'], false | undefined> {
  const { h2oLocal, h2oHeavy, h2oSchedule, h2oSelect, h2oDenseTail, h2oDecode } = flags
  return {
    ...(h2oLocal !== undefined && { local: h2oLocal }),
    ...(h2oHeavy !== undefined && { heavy: h2oHeavy }),
    schedule: h2oSchedule,
    ...(h2oSelect !== undefined && { select: h2oSelect }),
    ...(h2oDenseTail !== undefined && { denseTail: h2oDenseTail }),
    ...(h2oDecode !== undefined && { decode: h2oDecode }),
  }
}

export function threadCounts(
  flags: Pick<RunFlags, 'threads' | 'threadsBatch'>,
): Pick<ContextOptions, 'nThreads' | 'nThreadsBatch'> {
  const nThreads = threads(flags.threads)
  const nThreadsBatch = threads(flags.threadsBatch) ?? nThreads
  return {
    ...(nThreads !== undefined && { nThreads }),
    ...(nThreadsBatch !== undefined && { nThreadsBatch }),
  }
}

// llama.cpp: a count of 0 or less means all cores
function threads(given: number | undefined): number | undefined {
  return given !== undefined && given <= 0 ? defaultThreads() : given
}
