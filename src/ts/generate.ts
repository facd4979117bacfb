/** Generating text: a prefill, then one token after the other. */

import { type Chat, nativeChatOf } from './chat.js'
import type { ContextHandle } from './context-handle.js'
import { isDrafted, type SpecType } from './drafting.js'
import { invalidArgument } from './errors.js'
import { type NamedLogprobs, namedLogprobs } from './logprobs.js'
import type { NativeCall, NativeChat, NativeDrawn, NativeSampling } from './native/surface.js'
import {
  checkPrefillOptions,
  type OwnPrompt,
  ownPrompt,
  type PrefillOptions,
  type Prompt,
  prefillNames,
  runPrefill,
} from './prefill.js'
import { namesOf } from './read-options.js'
import { checkSampling, type SamplingOptions, samplingNames } from './sampling.js'
import { StopStrings } from './stop-strings.js'
import { TokenLoop } from './token-loop.js'
import type {
  DecodeKeys,
  GeneratedToken,
  GenerateSummary,
  GenerateTimings,
  Generation,
  PrefillResult,
  Reason,
} from './types.js'
import { Utf8Stream } from './utf8-stream.js'
import { integer } from './validate.js'

export interface GenerateOptions extends SamplingOptions, Omit<PrefillOptions, 'logits'> {
  /** Most tokens to generate; -1: until the model ends it or the context is full. -1 */
  nPredict?: number | undefined
  /** The text ends before the first of these strings, none of which is '': none */
  stop?: string | readonly string[] | undefined
  /**
   * The chat whose prompt this is: the answer keeps to its grammar and ends at its stop strings,
   * and `parseSpecial` is true. `grammar` and `jsonSchema` were given to applyChatTemplate() then.
   */
  chat?: Chat | undefined
  /**
   * Sparse decoding of this answer: the context's h2o.decode. Throws ERR_H2O_INVALID_ARGUMENT if it is not 0 in a context
   * that has no index (ContextH2o.decodeReason).
   */
  decode?: DecodeKeys | undefined
  /**
   * 'ngram-simple': where the last tokens stood before, what followed them there is drafted, and checked in one call. Its
   * rows round as those of a prompt do. ERR_H2O_INVALID_ARGUMENT with `decode`, recurrent layers, select 'votes'. 'none'
   */
  specType?: SpecType | undefined
}

/** Where the question goes is where the document ends. */
export type AskOptions = Omit<GenerateOptions, 'from' | 'append' | 'reuse'>

const { logits: _, ...promptNames } = prefillNames
const { from, append, reuse, ...askNames } = {
  ...promptNames,
  ...samplingNames,
  nPredict: true,
  stop: true,
  chat: true,
  decode: true,
  specType: true,
} as const

export const generateOptionNames = namesOf<GenerateOptions>({ ...askNames, from, append, reuse })
export const askOptionNames = namesOf<AskOptions>(askNames)

/** What a caller asked for, checked and our own. */
interface Request {
  prompt: OwnPrompt
  options: GenerateOptions
  nPredict: number
  stops: readonly string[]
  sampling: NativeSampling
  /** That a query head reads of the cache. */
  keys: number
  drafts: boolean
  shown: ReadonlySet<number>
}

const none: ReadonlySet<number> = new Set()

function readRequest(context: ContextHandle, prompt: Prompt, { chat, ...read }: GenerateOptions): Request {
  const nativeChat = nativeChatFor(chat, read)
  const options = chat && read.parseSpecial === undefined ? { ...read, parseSpecial: true } : read
  checkPrefillOptions(options)
  const nPredict = integer('nPredict', options.nPredict, -1, -1, 2 ** 31 - 1)
  const sampling = checkSampling(options, context.nVocab)
  const keys = context.keysOf(options.decode)
  return {
    prompt: ownPrompt(prompt, context.nVocab),
    options,
    nPredict,
    stops: [...stopsOf(options), ...(chat?.stop ?? [])],
    sampling: nativeChat ? { ...sampling, chat: nativeChat } : sampling,
    keys,
    drafts: isDrafted(context, options.specType, keys),
    shown: chat?.shown ?? none,
  }
}

function nativeChatFor(chat: unknown, { grammar, jsonSchema }: GenerateOptions): NativeChat | undefined {
  if (chat === undefined) return undefined
  if (grammar !== undefined || jsonSchema !== undefined) {
    throw invalidArgument(
      'beside chat there is no grammar and no jsonSchema: give them to applyChatTemplate()',
    )
  }
  const found = nativeChatOf(chat)
  if (!found) throw invalidArgument('chat is what applyChatTemplate() gave')
  return found
}

function stopsOf({ stop = [] }: GenerateOptions): readonly string[] {
  const stops = typeof stop === 'string' ? [stop] : stop
  if (!Array.isArray(stops) || stops.some((one) => typeof one !== 'string' || one === '')) {
    throw invalidArgument('stop is a string or several, and none of them is empty', { stop })
  }
  if (stops.some((one) => !one.isWellFormed())) {
    throw invalidArgument('stop has half of a surrogate pair, which no text has', { stop })
  }
  return [...stops]
}

/** What generates, while it does. */
export interface Turn {
  context: ContextHandle
  /** Where the prompt goes there, if not where the options say. */
  behind?: Pick<PrefillOptions, 'from' | 'denseTail'> | undefined
  end(): void | Promise<void>
}

/**
 * Copies and checks what it is given at once; what is wrong with it is thrown by the first next(), as all else.
 *
 * @param read the options, as our own
 * @param take the turn in which it runs: one of the context's own, unless given
 */
export function runGenerate(
  context: ContextHandle,
  prompt: Prompt,
  read: () => GenerateOptions,
  take: (signal: AbortSignal | undefined) => Promise<Turn> = async (signal) => ({
    context,
    end: await context.begin(signal),
  }),
): Generation {
  return new TokenLoop(
    context,
    tokensOf(
      take,
      attempt(() => readRequest(context, prompt, read())),
    ),
  )
}

function attempt<T>(work: () => T): () => T {
  try {
    const result = work()
    return () => result
  } catch (error) {
    return () => {
      throw error
    }
  }
}

/** Holds its turn from the first next() until it ends or is left. */
async function* tokensOf(
  take: (signal: AbortSignal | undefined) => Promise<Turn>,
  request: () => Request,
): AsyncGenerator<GeneratedToken, GenerateSummary, void> {
  const { prompt, options, nPredict, stops, sampling, keys, drafts, shown } = request()
  const { signal } = options
  const start = performance.now()
  const { context, behind, end } = await take(signal)
  let ahead: NativeDrawn[] = [] // drawn, and in the context but for the last
  try {
    const prefill = await context.abortable(signal, () =>
      runPrefill(
        context,
        prompt,
        { ...options, ...behind, logits: 'none' },
        nPredict !== 0 ? sampling : null,
        drafts,
      ),
    )
    const clock = new Clock(start)
    const text = new Text(stops)
    let whole = ''
    let predicted = 0
    let stop: GenerateSummary['stop'] = 'length'
    let last = 0

    if (prefill.drawn) ahead = [prefill.drawn]
    for (let drawn = ahead.shift(); drawn; drawn = ahead.shift()) {
      const token: number = drawn.token ?? last
      const logprobs: NamedLogprobs = namedLogprobs(context, drawn)
      if (drawn.token === null || context.isEog(token)) {
        stop = drawn.token === null ? 'grammar' : 'eos'
        const rest = text.end()
        whole += rest
        if (rest) yield { token, text: rest } // what was held back: the token itself is none of the answer
        break
      }
      predicted++
      const isLast = predicted === nPredict
      const isFull = context.position - ahead.length >= context.nCtx
      let piece = text.push(context.piece(token, shown.has(token)))
      if (isLast || isFull) piece += text.end()
      whole += piece
      yield { token, text: piece, ...logprobs }
      if (text.stopString !== null) {
        stop = 'stop'
        break
      }
      if (isLast) break
      if (isFull) {
        stop = 'context'
        break
      }
      last = token
      if (ahead.length > 0) {
        context.assertLive()
        signal?.throwIfAborted()
        continue
      }
      const room = Math.min(
        nPredict < 0 ? Number.POSITIVE_INFINITY : nPredict - predicted - 1,
        context.nCtx - context.position - 1,
      )
      const call: NativeCall = await clock.measure(() =>
        context.abortable(signal, () =>
          context.decode(Int32Array.of(token), 'none', null, {
            draw: true,
            keys,
            draft: drafts ? Math.max(room, 0) : 0,
          }),
        ),
      )
      clock.count(call)
      ahead = [call, ...(call.more ?? [])]
    }

    const timings = timingsOf(prefill.result, predicted, clock)
    const { stopString } = text
    return { prefill: prefill.result, text: whole, predicted, stop, stopString, seed: sampling.seed, timings }
  } finally {
    try {
      if (ahead.length > 0 && !context.disposed) await context.forget(context.position - ahead.length)
    } finally {
      await end()
    }
  }
}

/** The pieces of tokens as text: whole characters, up to the first stop string. */
class Text {
  #characters = new Utf8Stream()
  #stops: StopStrings

  constructor(stops: readonly string[]) {
    this.#stops = new StopStrings(stops)
  }

  /** The stop string that has come. */
  get stopString(): string | null {
    return this.#stops.found
  }

  push(bytes: Uint8Array): string {
    return this.#stops.push(this.#characters.push(bytes))
  }

  /** What was waiting for more. */
  end(): string {
    if (this.stopString !== null) return ''
    return this.#stops.push(this.#characters.flush()) + this.#stops.flush()
  }
}

/** Time spent on tokens, without what the consumer does between them. */
class Clock {
  readonly ttftMs: number
  predictedMs = 0
  /** Calls, those by the exact kernel, and those by sparse decoding. */
  nDecoded = 0
  nExact = 0
  nSparse = 0
  denseReason: Reason | null = null
  drafted = 0
  accepted = 0

  constructor(start: number) {
    this.ttftMs = performance.now() - start
  }

  count({ exact, decodeReason, drafted = 0, more = [] }: NativeCall): void {
    this.drafted += drafted
    this.accepted += more.length
    this.nDecoded++
    this.nExact += Number(exact)
    this.nSparse += Number(decodeReason === null)
    this.denseReason ??= decodeReason as Reason | null
  }

  async measure<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now()
    try {
      return await work()
    } finally {
      this.predictedMs += performance.now() - start
    }
  }
}

function timingsOf(prefill: PrefillResult, predictedN: number, clock: Clock): GenerateTimings {
  const { promptMs, promptPerSecond } = prefill.timings
  const { predictedMs, ttftMs, drafted, accepted, nDecoded, nExact, nSparse, denseReason } = clock
  return {
    cacheN: prefill.cached,
    promptN: prefill.tokens,
    promptMs,
    promptPerTokenMs: promptMs / prefill.tokens,
    promptPerSecond,
    predictedN,
    predictedMs,
    predictedPerTokenMs: predictedN > 0 ? predictedMs / predictedN : 0,
    predictedPerSecond: predictedMs > 0 ? (predictedN * 1000) / predictedMs : 0,
    draftN: drafted,
    draftNAccepted: accepted,
    predictedExact: nDecoded > 0 && nExact === nDecoded,
    predictedSparse: nSparse,
    predictedDenseReason: denseReason,
    ttftMs,
  }
}
