/** A context: what a model has read so far, and the native thread that works on it. */

import { types } from 'node:util'
import { ContextHandle, type LogitsMode } from './context-handle.js'
import { Document } from './document.js'
import { fromNative, H2oError, invalidArgument } from './errors.js'
import { type GenerateOptions, runGenerate } from './generate.js'
import { markForInstanceof } from './instanceof-mark.js'
import { loadModel, Model, nativeModelOf } from './model.js'
import type { ModelOptions } from './model-options.js'
import { native } from './native/binding.js'
import type { NativeContextInfo, NativeH2oOptions } from './native/surface.js'
import {
  type ContextOptions,
  checkContextOptions,
  type DecodeKeys,
  resolveContextSize,
  trainingWarnings,
} from './options.js'
import {
  allocateLogits,
  checkFit,
  checkPosition,
  checkPrefillOptions,
  logitsModes,
  ownPrompt,
  type PrefillOptions,
  type Prompt,
  prefillNames,
  publicCall,
  runPrefill,
} from './prefill.js'
import { namesOf, readOptions } from './read-options.js'
import type {
  ContextH2o,
  ContextMemory,
  DecodeResult,
  GeneratedToken,
  GenerateSummary,
  H2oTraceEntry,
  LayerKind,
  LoadedState,
  PrefillResult,
  Reason,
  Schedule,
} from './types.js'
import { count, oneOf, optionalSignal, tokenIds } from './validate.js'
import { emitProcessWarning, type H2oWarning, type WarningListener } from './warnings.js'

export type ReadOptions = Omit<PrefillOptions, 'logits' | 'append'>

export interface DecodeOptions {
  /** 'last' */
  logits?: LogitsMode
  /** Sparse decoding in a call of up to 8 tokens: the context's h2o.decode. As in GenerateOptions */
  decode?: DecodeKeys
  signal?: AbortSignal
}

const prefillOptionNames = namesOf<PrefillOptions>(prefillNames)
const { logits: _, append: __, ...ofRead } = prefillNames
const readOptionNames = namesOf<ReadOptions>(ofRead)
const decodeOptionNames = namesOf<DecodeOptions>({ logits: true, decode: true, signal: true })

/** For the server only: what is behind a context. */
export const handleOf = Symbol('handleOf')

/**
 * Operations run one at a time, in the order in which they were called, off the main thread.
 *
 * An abort rejects with the signal's reason, and what it interrupts leaves whole native calls only: `position` says how
 * many tokens are in the context, and going on from there gives what never aborting would have given.
 * A model with sliding windows keeps the chunks of the call that had ended, too. With recurrent layers a call of one
 * token ends before an abort takes effect; if such a call fails, nothing is left, and `position` is 0.
 */
export class Context {
  static {
    markForInstanceof(Context.prototype, 'Context')
  }

  readonly model: Model
  /** Tokens that fit. */
  readonly nCtx: number
  readonly nBatch: number
  readonly nUbatch: number
  readonly h2o: ContextH2o
  readonly memory: ContextMemory
  #handle: ContextHandle
  #ownsModel: boolean
  #disposal: Promise<void> | undefined

  /** Use createContext(). */
  constructor(model: Model, ownsModel: boolean, handle: ContextHandle) {
    const { info } = handle
    this.model = model
    this.nCtx = info.nCtx
    this.nBatch = info.nBatch
    this.nUbatch = info.nUbatch
    this.h2o = {
      covered: handle.covered,
      reason: info.reason as Reason | null,
      schedule: info.schedule as Schedule,
      select: info.select,
      chunk: info.chunk,
      local: info.local,
      heavy: info.heavy,
      heavyGrows: info.heavyGrows,
      denseTail: handle.denseTail,
      decode: info.decode,
      decodeReason: info.decodeReason as Reason | null,
      layers: info.layers as LayerKind[],
      cost: {
        linear: info.linearFlops,
        pair: info.pairFlops,
        windowPair: info.windowPairFlops,
        window: info.window,
      },
    }
    this.memory = {
      h2oStateBytes: info.stateBytes,
      h2oIndexBytes: info.indexBytes,
      h2oIntraBytes: info.intraBytes,
      kvBytes: info.kvBytes,
      computeBytes: info.computeBytes,
      sparseComputeBytes: info.sparseBytes,
      sparseGraphNodes: info.sparseNodes,
    }
    this.#handle = handle
    this.#ownsModel = ownsModel
  }

  /** Tokens in the context. */
  get position(): number {
    return this.#handle.position
  }

  get disposed(): boolean {
    return this.#disposal !== undefined
  }

  /**
   * Reads a prompt. Throws ERR_H2O_EMPTY_PROMPT, ERR_H2O_PROMPT_TOO_LONG, ERR_H2O_TOKEN_OUT_OF_RANGE before the context
   * is touched, ERR_H2O_DECODE_FAILED after.
   */
  async prefill(prompt: Prompt, given?: PrefillOptions): Promise<PrefillResult> {
    const options = readOptions('prefill', given, prefillOptionNames)
    checkPrefillOptions(options)
    const own = ownPrompt(prompt, this.#handle.nVocab)
    const { result } = await this.#handle.operate(options.signal, () =>
      runPrefill(this.#handle, own, options),
    )
    return result
  }

  /**
   * Reads a text to be asked about: prefill() without logits. What it gives answers questions behind the text, any
   * number of them, also at once.
   */
  async read(text: Prompt, given?: ReadOptions): Promise<Document> {
    const options = readOptions('read', given, readOptionNames)
    return new Document(
      this.#handle,
      await this.prefill(text, {
        ...options,
        denseTail: options.denseTail ?? 0,
        logits: 'none',
      }),
    )
  }

  /** Puts back what Document.save() gave; throws what loadState() throws. */
  async loadDocument(state: Uint8Array): Promise<Document> {
    return new Document(this.#handle, await this.loadState(state))
  }

  /**
   * How many tokens at the beginning of a prompt prefill() and generate() would not read again now: what to ask several
   * contexts of one model for the one that is furthest with a prompt.
   */
  reusable(tokens: ArrayLike<number>, denseTail: number = this.#handle.denseTail): number {
    this.#handle.assertLive()
    count('denseTail', denseTail, 0)
    return this.#handle.history.reusable(tokenIds(tokens, this.#handle.nVocab), denseTail)
  }

  /** Exactly one native decode call, appended: at most nBatch tokens (ERR_H2O_BATCH_TOO_LARGE). */
  async decode(tokens: number | ArrayLike<number>, given?: DecodeOptions): Promise<DecodeResult> {
    const { signal, logits: wanted, decode } = readOptions('decode', given, decodeOptionNames)
    const mode = oneOf('logits', wanted, 'last', logitsModes)
    optionalSignal(signal)
    const handle = this.#handle
    const keys = handle.keysOf(decode)
    const ids = tokenIds(typeof tokens === 'number' ? [tokens] : tokens, handle.nVocab)
    if (ids.length === 0) throw new H2oError('ERR_H2O_EMPTY_PROMPT', 'there are no tokens to decode')
    if (ids.length > handle.info.nCallMax) {
      const details = { nTokens: ids.length, nBatch: handle.info.nCallMax }
      const message = `one call takes ${details.nBatch} tokens at most, not ${details.nTokens}`
      throw new H2oError('ERR_H2O_BATCH_TOO_LARGE', message, { details })
    }
    return handle.operate(signal, async () => {
      checkFit(handle, ids.length, handle.position)
      const logits = allocateLogits(mode, ids.length, handle.nVocab)
      const call = await handle.decode(ids, mode, logits, false, keys)
      signal?.throwIfAborted()
      return { call: publicCall(call), logits, ms: call.ms }
    })
  }

  /**
   * Prefills a prompt and yields tokens; what it returns is the summary.
   *
   * A whole: from the first next() it holds the context until it ends or is left (`break`, return()), and what is
   * called on the context meanwhile waits. With `from`, concurrent questions behind one document each see the document
   * alone. The token yielded last is not in the context yet.
   *
   * A call inside the loop would wait for the loop itself, so it throws ERR_H2O_INSIDE_GENERATE: whatever is called by
   * the code that has taken a token and has not asked for the next one, awaited or not. It is not noticed (and waits)
   * where tokens reach that code through a stream, an event or another generator.
   */
  generate(prompt: Prompt, options?: GenerateOptions): AsyncGenerator<GeneratedToken, GenerateSummary, void> {
    return runGenerate(this.#handle, prompt, options)
  }

  /**
   * Forgets everything from `position` on. Throws ERR_H2O_POSITION_OUT_OF_RANGE beyond the end, and
   * ERR_H2O_POSITION_GONE where a model's sliding windows no longer reach back (swaFull) or where it has recurrent
   * layers; nothing is forgotten then.
   */
  async truncate(position: number): Promise<void> {
    count('position', position, 0, this.nCtx)
    await this.#handle.operate(undefined, async () => {
      checkPosition('truncate', position, this.#handle.position)
      if (position < this.#handle.position) await this.#handle.forget(position)
    })
  }

  /**
   * Forgets the positions from `from` up to, but without, `to`. The hole stays: later tokens keep their positions.
   * Throws ERR_H2O_POSITION_OUT_OF_RANGE beyond the end, ERR_H2O_POSITION_GONE for a model with recurrent layers.
   */
  async removeRange(from: number, to: number): Promise<void> {
    count('from', from, 0, this.nCtx)
    count('to', to, 0, this.nCtx)
    if (from > to) throw invalidArgument(`from must not be above to: ${from} > ${to}`, { from, to })
    await this.#handle.operate(undefined, async () => {
      checkPosition('to', to, this.#handle.position)
      if (from < to) await this.#handle.forget(from, to)
    })
  }

  async clear(): Promise<void> {
    await this.#handle.operate(undefined, () => this.#handle.forget(0))
  }

  /**
   * The content of the context as bytes, for a context of the same model and the same cache types. A checksum finds
   * damage; it is no protection against bytes that somebody made up.
   */
  async saveState(): Promise<Uint8Array> {
    return this.#handle.operate(undefined, () => this.#handle.save())
  }

  /**
   * Puts back what saveState() gave; the bytes are copied at once. Throws ERR_H2O_STATE_INVALID where they are damaged,
   * come from another model or from other cache types, or do not fit.
   *
   * A context with other settings of H2O takes the cache over and not what the method remembers: `inherited` is false
   * then, `reason` says why, and the next sparse call begins with the last positions alone. With select 'query' the
   * method remembers nothing beside the cache, so nothing of it is saved and nothing is lost: `inherited` is true,
   * whatever settings the state is from.
   *
   * A prompt that begins as the state does reads the rest only, as if this context had read it (PrefillOptions.reuse),
   * if the settings are the same.
   */
  async loadState(state: Uint8Array): Promise<LoadedState> {
    const own = ownState(state)
    return this.#handle.operate(undefined, () => this.#handle.restore(own))
  }

  /** What the last sparse call recorded (h2o.trace), ordered by layer, then chunk; empty the second time. */
  takeTrace(): H2oTraceEntry[] {
    this.#handle.assertLive()
    return this.#handle.native.takeTrace()
  }

  [handleOf](): ContextHandle {
    this.#handle.assertLive()
    return this.#handle
  }

  /** Aborts what runs, rejects what waits (ERR_H2O_DISPOSED), frees the memory. */
  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose()
    return this.#disposal
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  async #dispose(): Promise<void> {
    await this.#handle.dispose()
    if (this.#ownsModel) await this.model.dispose()
  }
}

/** A copy of what is in the bytes now: a buffer can be changed, resized and given away while the call waits. */
function ownState(state: unknown): Uint8Array {
  if (!types.isUint8Array(state)) throw invalidArgument('loadState takes what saveState() gave')
  try {
    return new Uint8Array(state)
  } catch (cause) {
    throw new H2oError('ERR_H2O_STATE_INVALID', 'the bytes of the state cannot be copied', {
      details: { bytes: state.length },
      cause,
    })
  }
}

/**
 * Makes a context, and loads its model if a path or model options are given. Throws what loadModel() throws,
 * ERR_H2O_CONTEXT_MEMORY, ERR_H2O_CONTEXT_CREATE, ERR_H2O_INVALID_ARGUMENT.
 */
export async function createContext(options: ContextOptions): Promise<Context> {
  const checked = checkContextOptions(options)
  const { model: given } = checked
  const model = given instanceof Model ? given : await loadModel(withListener(given, checked.onWarning))
  try {
    const nativeModel = model[nativeModelOf]()
    const nCtx = resolveContextSize(checked.nCtx, model.nCtxTrain)
    const context = new (native().NativeContext)(nativeModel)
    try {
      const info = await context.open({ ...checked.native, nCtx })
      const warnings = [
        ...checked.warnings,
        ...trainingWarnings(checked.nCtx, model.nCtxTrain, checked.native.rope),
        ...decodeWarnings(checked.native.h2o, info),
      ]
      for (const warning of warnings) (checked.onWarning ?? emitProcessWarning)(warning)
      const handle = new ContextHandle(
        context,
        info,
        model.nVocab,
        checked.denseTail,
        checked.native.flashAttn,
      )
      return new Context(model, model !== given, handle)
    } catch (error) {
      await context.dispose()
      throw error
    }
  } catch (error) {
    if (model !== given) await model.dispose()
    throw fromNative(error)
  }
}

function decodeWarnings({ decode }: NativeH2oOptions, { decodeReason }: NativeContextInfo): H2oWarning[] {
  if (decode === 0 || decodeReason === null) return []
  const message = `decode: every decoded token reads all keys, this context cannot choose (${decodeReason})`
  return [{ code: 'H2O_WARN_DECODE_DENSE', message }]
}

/** A model of the context's own warns where the context does. */
function withListener(
  given: string | ModelOptions,
  onWarning: WarningListener | undefined,
): string | ModelOptions {
  if (!onWarning) return given
  return { onWarning, ...(typeof given === 'string' ? { path: given } : given) }
}
