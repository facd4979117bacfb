/** A context: what a model has read so far, and the native thread that works on it. */

import { ContextHandle, type LogitsMode } from './context-handle.js'
import { fromNative, H2oError, invalidArgument } from './errors.js'
import { type GenerateOptions, runGenerate } from './generate.js'
import { markForInstanceof } from './instanceof-mark.js'
import { loadModel, Model, nativeModelOf } from './model.js'
import { native } from './native/binding.js'
import { type ContextOptions, checkContextOptions, resolveContextSize } from './options.js'
import {
  allocateLogits,
  checkFit,
  checkPrefillOptions,
  logitsModes,
  ownPrompt,
  type PrefillOptions,
  type Prompt,
  publicCall,
  runPrefill,
} from './prefill.js'
import type {
  ContextH2o,
  ContextMemory,
  DecodeResult,
  GeneratedToken,
  GenerateSummary,
  H2oTraceEntry,
  PrefillResult,
  Reason,
  Schedule,
} from './types.js'
import { count, oneOf, optionalSignal, tokenIds } from './validate.js'
import { emitProcessWarning } from './warnings.js'

export interface DecodeOptions {
  /** 'last' */
  logits?: LogitsMode
  signal?: AbortSignal
}

/**
 * Operations run one at a time, in the order in which they were called, off the main thread.
 *
 * An abort rejects with the signal's reason, and what it interrupts leaves whole native calls only: `position` says how
 * many tokens are in the context, and going on from there gives what never aborting would have given.
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
      chunk: info.chunk,
      local: info.local,
      heavy: info.heavy,
      denseTail: handle.denseTail,
    }
    this.memory = {
      h2oStateBytes: info.stateBytes,
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
  async prefill(prompt: Prompt, options: PrefillOptions = {}): Promise<PrefillResult> {
    checkPrefillOptions(options)
    const own = ownPrompt(prompt, this.#handle.nVocab)
    const { result } = await this.#handle.operate(options.signal, () =>
      runPrefill(this.#handle, own, options),
    )
    return result
  }

  /** Exactly one native decode call, appended: at most nBatch tokens (ERR_H2O_BATCH_TOO_LARGE). */
  async decode(tokens: number | ArrayLike<number>, options: DecodeOptions = {}): Promise<DecodeResult> {
    const mode = oneOf('logits', options.logits, 'last', logitsModes)
    optionalSignal(options.signal)
    const handle = this.#handle
    const ids = tokenIds(typeof tokens === 'number' ? [tokens] : tokens, handle.nVocab)
    if (ids.length === 0) throw new H2oError('ERR_H2O_EMPTY_PROMPT', 'there are no tokens to decode')
    if (ids.length > handle.info.nCallMax) {
      const details = { nTokens: ids.length, nBatch: handle.info.nCallMax }
      const message = `one call takes ${details.nBatch} tokens at most, not ${details.nTokens}`
      throw new H2oError('ERR_H2O_BATCH_TOO_LARGE', message, { details })
    }
    return handle.operate(options.signal, async () => {
      checkFit(handle, ids.length, handle.position)
      const logits = allocateLogits(mode, ids.length, handle.nVocab)
      const call = await handle.decode(ids, mode, logits)
      options.signal?.throwIfAborted()
      return { call: publicCall(call), logits, ms: call.ms }
    })
  }

  /**
   * Prefills a prompt and yields tokens; what it returns is the summary. It holds the context until it ends or is left:
   * a call awaited inside the loop would wait for the loop itself.
   */
  generate(
    prompt: Prompt,
    options: GenerateOptions = {},
  ): AsyncGenerator<GeneratedToken, GenerateSummary, void> {
    return runGenerate(this.#handle, prompt, options)
  }

  /** Forgets everything from `position` on. */
  async truncate(position: number): Promise<void> {
    count('position', position, 0, this.nCtx)
    await this.#handle.operate(undefined, async () => {
      if (position < this.#handle.position) await this.#handle.forget(position)
    })
  }

  /** Forgets the positions from `from` up to, but without, `to`. The hole stays: later tokens keep their positions. */
  async removeRange(from: number, to: number): Promise<void> {
    count('from', from, 0, this.nCtx)
    count('to', to, 0, this.nCtx)
    if (from > to) throw invalidArgument('from must not be above to', { from, to })
    await this.#handle.operate(undefined, async () => {
      if (from < to) await this.#handle.forget(from, to)
    })
  }

  async clear(): Promise<void> {
    await this.#handle.operate(undefined, () => this.#handle.forget(0))
  }

  /** The content of the context as bytes, for a context of the same model and the same cache types. */
  async saveState(): Promise<Uint8Array> {
    return this.#handle.operate(undefined, () => this.#handle.save())
  }

  /** Puts back what saveState() gave. Throws ERR_H2O_STATE_INVALID where it does not belong here. */
  async loadState(state: Uint8Array): Promise<void> {
    if (!(state instanceof Uint8Array)) throw invalidArgument('loadState takes what saveState() gave')
    await this.#handle.operate(undefined, () => this.#handle.restore(state))
  }

  /** What the last sparse call recorded (h2o.trace), ordered by layer, then chunk; empty the second time. */
  takeTrace(): H2oTraceEntry[] {
    this.#handle.assertLive()
    return this.#handle.native.takeTrace()
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

/**
 * Makes a context, and loads its model if a path or model options are given. Throws what loadModel() throws,
 * ERR_H2O_CONTEXT_MEMORY, ERR_H2O_CONTEXT_CREATE, ERR_H2O_INVALID_ARGUMENT.
 */
export async function createContext(options: ContextOptions): Promise<Context> {
  const checked = checkContextOptions(options)
  const given = options.model
  const model = given instanceof Model ? given : await loadModel(given)
  try {
    const nativeModel = model[nativeModelOf]()
    const nCtx = resolveContextSize(checked.nCtx, model.nCtxTrain)
    const context = new (native().NativeContext)(nativeModel)
    try {
      const info = await context.open({ ...checked.native, nCtx })
      for (const warning of checked.warnings) (checked.onWarning ?? emitProcessWarning)(warning)
      const handle = new ContextHandle(context, info, model.nVocab, checked.denseTail)
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
