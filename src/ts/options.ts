/** Options of contexts: their types, defaults and checks. Native code gets nothing that was not here. */

import { invalidArgument } from './errors.js'
import { hostMemory } from './host-memory.js'
import type { Model } from './model.js'
import type { ModelOptions } from './model-options.js'
import { native } from './native/binding.js'
import {
  type NativeContextOptions,
  type NativeH2oOptions,
  type NativeH2oUse,
  traceLevels,
} from './native/surface.js'
import { defaultSelection, policies, policyOf, type Selection, selections } from './policies.js'
import { namesOf, readOptions } from './read-options.js'
import { checkRope, type RopeOptions } from './rope.js'
import { defaultThreads, maxThreads } from './threads.js'
import { type DecodeKeys, maxDecodeKeys, type Schedule, schedules } from './types.js'
import { boolean, integer, not, oneOf, optionalFunction } from './validate.js'
import type { H2oWarning, WarningListener } from './warnings.js'

export const kvTypes = ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'] as const
export type KvType = (typeof kvTypes)[number]

export const flashAttnModes = ['auto', 'on', 'off'] as const
export type FlashAttn = (typeof flashAttnModes)[number]

export interface H2oOptions {
  /** L, the last positions before a chunk: 128, or a quarter of it if that is less; with 'votes' 256, or a half */
  local?: number | undefined
  /**
   * H, the positions that `select` chooses at most: 640, growing with the prompt. What is given stays as it is. 256 with
   * 'votes', less where L + H would not be below a chunk.
   */
  heavy?: number | undefined
  /** 'single-pass' */
  schedule?: Schedule | undefined
  /** `defaultSelection`, and 'votes' with schedule 'two-pass', which has no 'query' */
  select?: Selection | undefined
  /**
   * Record scores and memory sets of sparse calls for takeTrace(); 'mass': where dense attention would have looked,
   * too, which costs about what dense attention does. false
   */
  trace?: boolean | 'mass' | undefined
  /**
   * Of every prompt the last so many tokens are dense: they see all of it, as a question at its end should. 64, and 0
   * with 'votes'. A text of read() has none, as its questions come later.
   */
  denseTail?: number | undefined
  /**
   * Sparse decoding: keys that each query head chooses of the cache for a decoded token, beside some hundred that are
   * always read; 0 is all of them, 'auto' as many as stay near to all. What is not 0 costs an index, 4.3 % of an F16
   * cache. 0
   */
  decode?: DecodeKeys | undefined
}

export interface ContextOptions {
  /** A path: the context loads the model and disposes it with itself. */
  model: string | Model | ModelOptions
  /**
   * Tokens that fit, rounded up to a multiple of 256; 0 is the training context.
   * Their KV cache is allocated at once, so this is what a context costs in memory.
   * Above the training context there is a warning. min(32768, training context)
   */
  nCtx?: number | undefined
  /** Most tokens of one native call: 2048. A multiple of nUbatch with H2O. */
  nBatch?: number | undefined
  /** Most tokens of one pass, and the chunk of H2O: 512 */
  nUbatch?: number | undefined
  /** Every core, unless given. */
  nThreads?: number | undefined
  /** For more than one token at once: nThreads */
  nThreadsBatch?: number | undefined
  flashAttn?: FlashAttn | undefined
  typeK?: KvType | undefined
  typeV?: KvType | undefined
  /**
   * Keep all positions of layers with a sliding window, too: false. Without, such a model cannot go back further than
   * its windows reach (ERR_H2O_POSITION_GONE). With it the cache is as large as a model's without windows.
   */
  swaFull?: boolean | undefined
  /** The KV cache is on the devices that hold the layers: true */
  kvOffload?: boolean | undefined
  /** Positions, where they should be otherwise than the model says: YaRN for a longer context. */
  rope?: RopeOptions | undefined
  /** false: stock attention. Local and heavy of 0 mean the same. */
  h2o?: false | H2oOptions | undefined
  /**
   * Linear layers by llama.cpp's own matrix products, and decoding by its own attention: false. Ours are faster, and
   * round otherwise.
   * With true, what is dense has unpatched llama.cpp's logits to the bit.
   */
  upstreamProducts?: boolean | undefined
  /**
   * As an embedding context of llama.cpp: every token becomes an output, and the prefill is dense. Nothing here returns
   * them.
   */
  embeddings?: boolean | undefined
  /**
   * Sequences, each with nCtx tokens of its own: 1, at most 64. Context.sequence() gives those behind the first one.
   * Prompts are read chunk by chunk then, so that each has its turns.
   */
  parallel?: number | undefined
  /**
   * The sequences share nCtx tokens: the context reads a text, and up to parallel - 1 questions to it (Document.ask) are
   * answered at once, over one copy of its keys and values. false
   */
  kvUnified?: boolean | undefined
  /**
   * Tokens of all sequences that wait for one are decoded in one call: faster with many sequences, and equal up to
   * rounding, where calls of their own have the bits of a context with one. Always so with kvUnified. false
   */
  contBatching?: boolean | undefined
  /** process.emitWarning, unless given. */
  onWarning?: ((warning: H2oWarning) => void) | undefined
}

const contextOptionNames = namesOf<ContextOptions>({
  model: true,
  nCtx: true,
  nBatch: true,
  nUbatch: true,
  nThreads: true,
  nThreadsBatch: true,
  flashAttn: true,
  typeK: true,
  typeV: true,
  swaFull: true,
  kvOffload: true,
  rope: true,
  h2o: true,
  upstreamProducts: true,
  embeddings: true,
  parallel: true,
  kvUnified: true,
  contBatching: true,
  onWarning: true,
})

const h2oOptionNames = namesOf<H2oOptions>({
  local: true,
  heavy: true,
  schedule: true,
  select: true,
  trace: true,
  denseTail: true,
  decode: true,
})

/** ContextOptions, checked and with defaults, but for the model; nCtx undefined means the model decides. */
export interface CheckedContextOptions {
  model: ContextOptions['model']
  nCtx: number | undefined
  parallel: number
  kvUnified: boolean
  contBatching: boolean
  native: Omit<NativeContextOptions, 'nCtx'>
  denseTail: number
  warnings: H2oWarning[]
  onWarning: WarningListener | undefined
}

const maxInt = 2 ** 31 - 1
const maxCtx = 2 ** 31 - 256
const maxSequences = 64

export function checkContextOptions(given: ContextOptions): CheckedContextOptions {
  const options = readOptions('createContext', given, contextOptionNames)
  optionalFunction('onWarning', options.onWarning)
  const nCtx = options.nCtx === undefined ? undefined : integer('nCtx', options.nCtx, 0, 0, maxCtx)
  const parallel = integer('parallel', options.parallel, 1, 1, maxSequences)
  const kvUnified = boolean('kvUnified', options.kvUnified, false)
  if (kvUnified && parallel < 2) {
    throw invalidArgument('kvUnified is for parallel of 2 and more: one sequence reads, the others ask', {
      parallel,
    })
  }
  const nThreads = integer('nThreads', options.nThreads, defaultThreads(), 1, maxThreads)
  const typeV = oneOf('typeV', options.typeV, 'f16', kvTypes)
  const flashAttn = oneOf('flashAttn', options.flashAttn, 'auto', flashAttnModes)
  const warnings: H2oWarning[] = []
  const h2o = checkH2o(options.h2o)
  const isOn = h2o.local !== 0 || h2o.heavy !== 0
  const upstreamProducts = boolean('upstreamProducts', options.upstreamProducts, false)
  if (h2o.decode !== 0 && (!isOn || upstreamProducts)) {
    const why = upstreamProducts ? 'upstreamProducts is true' : 'local and heavy are 0'
    throw invalidArgument(`decode is for contexts with H2O and its products: ${why}`)
  }
  if (h2o.decode !== 0 && kvUnified) {
    throw invalidArgument('decode is for sequences with cells of their own: not with kvUnified')
  }
  const { nBatch, nUbatch } = checkBatches(options, isOn, warnings)
  if (nBatch < parallel) {
    throw invalidArgument('nBatch (-b) is below parallel: a call may hold a token of each sequence', {
      nBatch,
      parallel,
    })
  }
  const used = native().resolveH2o(h2o, nUbatch)
  if (isOn) warnAboutBudget(h2o, used, nBatch, nUbatch, warnings)
  return {
    model: options.model,
    nCtx,
    parallel,
    kvUnified,
    contBatching: boolean('contBatching', options.contBatching, false),
    denseTail: used.denseTail,
    native: {
      nBatch,
      nUbatch,
      nSeq: parallel,
      kvUnified,
      nThreads,
      nThreadsBatch: integer('nThreadsBatch', options.nThreadsBatch, nThreads, 1, maxThreads),
      flashAttn,
      typeK: oneOf('typeK', options.typeK, 'f16', kvTypes),
      typeV,
      swaFull: boolean('swaFull', options.swaFull, false),
      kvOffload: boolean('kvOffload', options.kvOffload, true),
      rope: checkRope(options.rope),
      h2o,
      upstreamProducts,
      embeddings: boolean('embeddings', options.embeddings, false),
      memoryLimit: hostMemory(),
    },
    warnings,
    onWarning: options.onWarning,
  }
}

const off: NativeH2oOptions = {
  local: 0,
  heavy: 0,
  denseTail: 0,
  decode: 0,
  select: undefined,
  twoPass: false,
  trace: traceLevels.off,
}

function checkH2o(given: ContextOptions['h2o']): NativeH2oOptions {
  if (given === false) return off
  const h2o = readOptions('h2o', given, h2oOptionNames)
  const schedule = oneOf('schedule', h2o.schedule, 'single-pass', schedules)
  const select =
    h2o.select === undefined ? undefined : oneOf('select', h2o.select, defaultSelection, selections)
  if (select && schedule === 'two-pass' && !policyOf(select).runsTwoPass) {
    const others = policies.filter(({ runsTwoPass }) => runsTwoPass).map(({ name }) => `'${name}'`)
    throw invalidArgument(
      `select '${select}' has no schedule 'two-pass': use 'single-pass', or select ${others.join(' or ')}`,
      { select, schedule },
    )
  }
  return {
    local: optionalCount('local', h2o.local),
    heavy: optionalCount('heavy', h2o.heavy),
    denseTail: optionalCount('denseTail', h2o.denseTail),
    decode: checkDecode(h2o.decode) ?? 0,
    select,
    twoPass: schedule === 'two-pass',
    trace: checkTrace(h2o.trace),
  }
}

function optionalCount(name: string, value: unknown): number | undefined {
  return value === undefined ? undefined : integer(name, value, 0, 0, maxInt)
}

/** What the engine takes for 'auto' (H2O_AUTO). */
const autoKeys = 2 ** 32 - 1

/** As it was given. */
export const decodeOf = (keys: number): DecodeKeys => (keys === autoKeys ? 'auto' : keys)

/** Of a context, or of one call of it: undefined is the context's. */
export function checkDecode(decode: unknown): number | undefined {
  if (decode === undefined) return undefined
  if (decode === 'auto') return autoKeys
  if (typeof decode === 'number' && Number.isInteger(decode) && decode >= 0 && decode <= maxDecodeKeys)
    return decode
  throw invalidArgument(`decode must be 'auto' or an integer from 0 to ${maxDecodeKeys}${not(decode)}`, {
    decode,
  })
}

function checkTrace(trace: unknown): number {
  if (trace === 'mass') return traceLevels.mass
  if (trace === undefined || typeof trace === 'boolean') return trace ? traceLevels.sets : traceLevels.off
  throw invalidArgument(`trace must be true, false or 'mass'${not(trace)}`, { trace })
}

function checkBatches(options: ContextOptions, h2oOn: boolean, warnings: H2oWarning[]) {
  const wanted = integer('nBatch', options.nBatch, 2048, 1, maxInt)
  const nUbatch = Math.min(wanted, integer('nUbatch', options.nUbatch, 512, 1, maxInt))
  if (options.nUbatch !== undefined && options.nUbatch > wanted) {
    const message = `nUbatch (-ub) ${options.nUbatch} is above nBatch (-b) ${wanted} and was lowered to it`
    warnings.push({ code: 'H2O_WARN_UBATCH_CLAMPED', message })
  }
  const excess = h2oOn && wanted > nUbatch ? wanted % nUbatch : 0
  const nBatch = wanted - excess
  if (excess > 0) {
    const message = `nBatch (-b) ${wanted} is no multiple of nUbatch (-ub) ${nUbatch} and was lowered to ${nBatch}`
    warnings.push({ code: 'H2O_WARN_BATCH_ROUNDED', message })
  }
  return { nBatch, nUbatch }
}

/** As a context with chunks of so many tokens would have it. */
export function resolvedH2o(options: H2oOptions, nUbatch: number): NativeH2oUse {
  return native().resolveH2o(checkH2o(options), nUbatch)
}

function warnAboutBudget(
  asked: NativeH2oOptions,
  used: NativeH2oUse,
  nBatch: number,
  nUbatch: number,
  warnings: H2oWarning[],
): void {
  if (nBatch <= nUbatch) {
    const message = `nBatch (-b) ${nBatch} holds one chunk of nUbatch (-ub) ${nUbatch}: H2O can never run`
    warnings.push({ code: 'H2O_WARN_BATCH_TOO_SMALL', message })
    return
  }
  if (!used.lowered) return
  const sizes = ['local', 'heavy'] as const
  const wanted = sizes.map((name) => `${name} ${asked[name] ?? used[name]}`).join(' and ')
  const message =
    `local, with votes local + heavy, must be below nUbatch (-ub) ${nUbatch}: ` +
    `${wanted} became ${used.local} and ${used.heavy}`
  warnings.push({ code: 'H2O_WARN_BUDGET_CLAMPED', message })
}

/** Nothing above it unless asked: an 8B model's KV cache of so many tokens takes 4 GiB or so. */
const maxDefaultCtx = 32768

/** The training context up to a limit unless asked; padded as llama.cpp pads it, so that nBatch sees it too. */
export function resolveContextSize(nCtx: number | undefined, nCtxTrain: number, parallel: number): number {
  if ((nCtx === undefined || nCtx === 0) && nCtxTrain <= 0) {
    throw invalidArgument('the model names no training context; give nCtx')
  }
  const wanted = nCtx === undefined ? Math.min(maxDefaultCtx, nCtxTrain) : nCtx === 0 ? nCtxTrain : nCtx
  const padded = Math.ceil(wanted / 256) * 256
  if (padded * parallel > maxCtx) {
    throw invalidArgument(`${parallel} sequences of ${padded} tokens are more than ${maxCtx}`, {
      nCtx: padded,
      parallel,
    })
  }
  return padded
}

/** As llama.cpp has it: positions that training never saw, and that no other RoPE was asked for. */
export function trainingWarnings(
  nCtx: number | undefined,
  nCtxTrain: number,
  rope: RopeOptions,
): H2oWarning[] {
  if (nCtx === undefined || nCtxTrain <= 0 || nCtx <= nCtxTrain || Object.keys(rope).length > 0) return []
  const message = `nCtx (-c) ${nCtx} is above the ${nCtxTrain} tokens that the model was trained on`
  return [{ code: 'H2O_WARN_CONTEXT_ABOVE_TRAINING', message }]
}
