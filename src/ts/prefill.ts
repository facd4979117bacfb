/** Prefilling a prompt: tokens, the checks, the cut into calls, what they report. */

import type { ContextHandle, LogitsMode } from './context-handle.js'
import { H2oError, invalidArgument } from './errors.js'
import { hostMemory } from './host-memory.js'
import type { NativeCall, NativeSampling } from './native/surface.js'
import type { Place } from './places.js'
import { cutIntoPieces, planPrefill } from './prefill-plan.js'
import { followProgress } from './progress.js'
import { maxPriority } from './scheduler.js'
import type { Call, Path, PrefillProgress, PrefillResult, Reason, Schedule } from './types.js'
import { boolean, integer, oneOf, optionalFunction, optionalSignal, tokenIds } from './validate.js'

/** A text, or token ids. */
export type Prompt = string | ArrayLike<number>

/** The same, of ids a copy that is checked: the caller may change theirs while the prefill waits for its turn. */
export type OwnPrompt = string | Int32Array

export function ownPrompt(prompt: Prompt, nVocab: number): OwnPrompt {
  const own =
    typeof prompt === 'string'
      ? prompt
      : tokenIds(prompt, nVocab, 'a prompt is a text or a list of token ids')
  if (own.length === 0) throw emptyPrompt()
  return own
}

export interface PrefillOptions {
  /** Continue after what is in the context; otherwise it is cleared first, but for `reuse`: false */
  append?: boolean | undefined
  /**
   * A beginning that the context holds already is not read again, where that changes nothing: `cached` says how much.
   * In whole chunks, with select 'query'. true; never with logits 'all'.
   */
  reuse?: boolean | undefined
  /**
   * Go back first, in the same turn: what is behind is forgotten, and the prompt follows. Not together with `append`.
   *
   * What prefill() or loadState() of this context gave: back to where that ended. ERR_H2O_POSITION_STALE if any of it
   * was forgotten meanwhile. A position: back to there, whatever stands before it; 0 clears.
   * ERR_H2O_POSITION_OUT_OF_RANGE beyond the end, ERR_H2O_POSITION_GONE where the model cannot go back
   * (Context.truncate): for a model with recurrent layers use saveState() and loadState().
   */
  from?: number | Place | undefined
  /**
   * The last so many tokens of this prompt are dense; of all of them, it is dense as a whole: the context's
   * h2o.denseTail
   */
  denseTail?: number | undefined
  /** Whose logits to return: 'last' */
  logits?: LogitsMode | undefined
  /** Add BOS where the model wants it: true, and false when a text is appended to something */
  addSpecial?: boolean | undefined
  /** "<|im_start|>" in the text becomes its token: false */
  parseSpecial?: boolean | undefined
  /**
   * In a context of several sequences: of prompts that wait, those with the highest priority are read first, by turns.
   * 0
   */
  priority?: number | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: PrefillProgress) => void) | undefined
}

export const prefillNames = {
  append: true,
  from: true,
  reuse: true,
  denseTail: true,
  logits: true,
  addSpecial: true,
  parseSpecial: true,
  priority: true,
  signal: true,
  onProgress: true,
} as const

export const logitsModes = ['last', 'all', 'none'] as const

export function checkPrefillOptions(options: PrefillOptions): void {
  const append = boolean('append', options.append, false)
  const { from } = options
  if (!isPlace(from)) integer('from', from, 0, 0, 2 ** 31 - 1)
  if (append && from !== undefined) {
    throw invalidArgument('append and from each say where the prompt goes; give one of them', {
      append,
      from,
    })
  }
  boolean('reuse', options.reuse, true)
  integer('denseTail', options.denseTail, 0, 0, 2 ** 31 - 1)
  boolean('addSpecial', options.addSpecial, true)
  boolean('parseSpecial', options.parseSpecial, false)
  oneOf('logits', options.logits, 'last', logitsModes)
  integer('priority', options.priority, 0, -maxPriority, maxPriority)
  optionalFunction('onProgress', options.onProgress)
  optionalSignal(options.signal)
}

/**
 * Runs in a turn of the context. With `sampling` it draws a token from the last logits.
 *
 * Everything is checked before the context is touched. After a failure or an abort it holds the calls that had ended.
 */
export async function runPrefill(
  context: ContextHandle,
  prompt: OwnPrompt,
  options: PrefillOptions,
  sampling: NativeSampling | null = null,
  drafts = false,
): Promise<{ result: PrefillResult; drawn: NativeCall | null }> {
  const start = options.append ? context.position : startOf(context, options.from)
  checkPosition('from', start, context.position)
  const whole = await promptTokens(context, prompt, start, options)
  checkFit(context, whole.length, start)

  const mode = options.logits ?? 'last'
  const logits = allocateLogits(mode, whole.length, context.nVocab)
  if (sampling) await context.startSampling(sampling, start, whole, drafts)
  const isNew = !options.append && options.from === undefined
  const isReused = isNew && mode !== 'all' && options.reuse !== false
  const denseTail = options.denseTail ?? context.denseTail
  const known = isReused ? await goBack(context, context.reusable(whole, denseTail)) : 0
  const tokens = whole.subarray(known)
  const wanted = start + known
  const { nCallMax, nUbatch } = context.info
  const plan = planPrefill(tokens.length, nCallMax, nUbatch, context.covered, denseTail)
  const pieces = context.isAlone ? plan.map((n) => ({ n, expected: 0 })) : cutIntoPieces(plan, nUbatch)

  if (context.position > wanted) await context.forget(wanted)
  const base = context.position // less than was wanted where that was in a hole (removeRange)

  const progress = followProgress(context, tokens.length, options.onProgress)
  const calls: Call[] = []
  const began = performance.now()
  let done = 0
  let drawn: NativeCall | null = null
  try {
    for (const { n, expected } of pieces) {
      options.signal?.throwIfAborted()
      const isLast = done + n === tokens.length
      progress.started(n)
      const call = await context.decode(
        tokens.subarray(done, done + n),
        mode === 'last' && !isLast ? 'none' : mode,
        rowsOf(logits, mode, isLast, done, n, context.nVocab),
        { draw: sampling !== null && isLast, expected, priority: options.priority ?? 0 },
      )
      calls.push(publicCall(call))
      if (isLast && sampling) drawn = call
      done += n
      progress.ended(done, calls.at(-1) as Call)
    }
  } catch (error) {
    throw progress.failure() ?? error
  } finally {
    progress.stop()
  }
  options.signal?.throwIfAborted()
  const promptMs = performance.now() - began
  const schedule = context.info.schedule as Schedule
  const result = context.places.add(summarize(calls, tokens.length, base, logits, schedule, promptMs))
  return { result, drawn }
}

/** To a position, or to 0 where the memory cannot: sliding windows and recurrent states forget. */
async function goBack(context: ContextHandle, position: number): Promise<number> {
  if (position === 0 || position === context.position) return position
  try {
    await context.forget(position)
    return position
  } catch (error) {
    if (!(error instanceof H2oError)) throw error
    await context.forget(0)
    return 0
  }
}

function isPlace(from: PrefillOptions['from']): from is Place {
  return typeof from === 'object' && from !== null
}

function startOf(context: ContextHandle, from: PrefillOptions['from']): number {
  return isPlace(from) ? context.places.positionOf(from) : (from ?? 0)
}

async function promptTokens(
  context: ContextHandle,
  prompt: OwnPrompt,
  base: number,
  options: PrefillOptions,
): Promise<Int32Array> {
  if (typeof prompt !== 'string') return prompt
  const { addSpecial = base === 0, parseSpecial = false } = options
  const tokens = await context.tokenize(prompt, addSpecial, parseSpecial, options.priority ?? 0)
  if (tokens.length === 0) throw emptyPrompt()
  return tokens
}

function emptyPrompt(): H2oError {
  return new H2oError('ERR_H2O_EMPTY_PROMPT', 'the prompt holds no tokens')
}

/** A position that is there: one behind the last token at most. */
export function checkPosition(name: string, wanted: number, position: number): void {
  if (wanted <= position) return
  throw new H2oError(
    'ERR_H2O_POSITION_OUT_OF_RANGE',
    `${name} ${wanted} is beyond the end of the context, which is at ${position}`,
    { details: { [name]: wanted, position } },
  )
}

/** The tokens must fit behind `base`. */
export function checkFit(context: ContextHandle, nPrompt: number, base: number): void {
  const { nCtx } = context
  if (base + nPrompt <= nCtx) return
  const behind = base > 0 ? `, behind ${base} that are there` : ''
  const holds =
    nCtx < context.info.nCtx ? `its share of the context ends at ${nCtx}` : `the context holds ${nCtx}`
  throw new H2oError('ERR_H2O_PROMPT_TOO_LONG', `the prompt has ${nPrompt} tokens${behind}; ${holds}`, {
    details: { nPrompt, nCtx, position: base },
  })
}

export function allocateLogits(mode: LogitsMode, nTokens: number, nVocab: number): Float32Array | null {
  if (mode === 'none') return null
  const length = mode === 'all' ? nTokens * nVocab : nVocab
  try {
    if (length * 4 > hostMemory()) throw new RangeError('more than this machine has')
    return new Float32Array(length)
  } catch (cause) {
    throw new H2oError('ERR_H2O_INVALID_ARGUMENT', `logits of ${nTokens} tokens do not fit into memory`, {
      details: { nTokens, nVocab, bytes: length * 4 },
      cause,
    })
  }
}

/** Where the logits of one call go. */
function rowsOf(
  logits: Float32Array | null,
  mode: LogitsMode,
  isLast: boolean,
  first: number,
  n: number,
  nVocab: number,
): Float32Array | null {
  if (!logits) return null
  if (mode === 'all') return logits.subarray(first * nVocab, (first + n) * nVocab)
  return isLast ? logits : null
}

export function publicCall(call: NativeCall): Call {
  const { n, pos, inherited, chunks, exact, decode } = call
  const path = call.path as Path
  const reason = call.reason as Reason | null
  const decodeReason = call.decodeReason as Reason | null
  return { n, pos, path, reason, inherited, chunks, exact, decode, decodeReason }
}

function summarize(
  calls: Call[],
  tokens: number,
  cached: number,
  logits: Float32Array | null,
  schedule: Schedule,
  promptMs: number,
): PrefillResult {
  const sparse = calls.some((call) => call.path === 'h2o')
  const tail = calls.slice(calls.findLastIndex((call) => call.path === 'h2o') + 1)
  return {
    tokens,
    cached,
    position: cached + tokens,
    path: sparse ? 'h2o' : 'dense',
    reason: sparse ? null : (calls[0]?.reason ?? null),
    schedule,
    chunks: calls.reduce((sum, call) => sum + call.chunks, 0),
    denseTail: sparse ? tail.reduce((sum, call) => sum + call.n, 0) : 0,
    calls,
    logits,
    timings: { promptMs, promptPerSecond: promptMs > 0 ? (tokens * 1000) / promptMs : 0 },
  }
}
