/** A sequence: what a model has read so far. A context is one, and can have more. */

import { types } from 'node:util'
import type { Askers } from './askers.js'
import type { ContextHandle, LogitsMode } from './context-handle.js'
import { Document } from './document.js'
import { H2oError, invalidArgument } from './errors.js'
import { type GenerateOptions, generateOptionNames, runGenerate } from './generate.js'
import { markForInstanceof } from './instanceof-mark.js'
import type { Model } from './model.js'
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
  DecodeKeys,
  DecodeResult,
  Generation,
  H2oTraceEntry,
  LoadedState,
  PrefillResult,
} from './types.js'
import { count, oneOf, optionalSignal, tokenIds } from './validate.js'

export type ReadOptions = Omit<PrefillOptions, 'logits' | 'append'>

export interface DecodeOptions {
  /** 'last' */
  logits?: LogitsMode | undefined
  /** Sparse decoding in a call of up to 8 tokens: the context's h2o.decode. As in GenerateOptions */
  decode?: DecodeKeys | undefined
  signal?: AbortSignal | undefined
}

const prefillOptionNames = namesOf<PrefillOptions>(prefillNames)
const { logits: _, append: __, ...ofRead } = prefillNames
const readOptionNames = namesOf<ReadOptions>(ofRead)
const decodeOptionNames = namesOf<DecodeOptions>({ logits: true, decode: true, signal: true })

/** For the server only: what is behind a context. */
export const handleOf = Symbol('handleOf')

/** What all sequences of a context have in common. */
export interface SequenceTraits {
  readonly model: Model
  /** Tokens that fit into a sequence. */
  readonly nCtx: number
  readonly nBatch: number
  readonly nUbatch: number
  /** Sequences of the context. */
  readonly parallel: number
  readonly h2o: ContextH2o
  /** Of the whole context. */
  readonly memory: ContextMemory
}

/**
 * Operations run one at a time, in the order in which they were called, off the main thread. Those of other sequences of
 * the context run beside them, by turns: one chunk of a prompt, tokens of those that ask for one, and again.
 *
 * An abort rejects with the signal's reason, and what it interrupts leaves whole native calls only: `position` says how
 * many tokens are in the context, and going on from there gives what never aborting would have given.
 * A model with sliding windows keeps the chunks of the call that had ended, too. With recurrent layers a call of one
 * token ends before an abort takes effect; if such a call fails, nothing is left, and `position` is 0.
 */
export class Sequence implements SequenceTraits {
  static {
    markForInstanceof(Sequence.prototype, 'Sequence')
  }

  readonly model: Model
  readonly nCtx: number
  readonly nBatch: number
  readonly nUbatch: number
  readonly parallel: number
  readonly h2o: ContextH2o
  readonly memory: ContextMemory
  #handle: ContextHandle
  #free: () => Promise<void>
  #askers: Askers | undefined

  /** Use createContext(), or Context.sequence(). */
  constructor(traits: SequenceTraits, handle: ContextHandle, free: () => Promise<void>, askers?: Askers) {
    this.model = traits.model
    this.nCtx = traits.nCtx
    this.nBatch = traits.nBatch
    this.nUbatch = traits.nUbatch
    this.parallel = traits.parallel
    this.h2o = traits.h2o
    this.memory = traits.memory
    this.#handle = handle
    this.#free = free
    this.#askers = askers
  }

  /** Tokens in the sequence. */
  get position(): number {
    return this.#handle.position
  }

  get disposed(): boolean {
    return this.#handle.disposed
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
      this.#askers,
    )
  }

  /** Puts back what Document.save() gave; throws what loadState() throws. */
  async loadDocument(state: Uint8Array): Promise<Document> {
    return new Document(this.#handle, await this.loadState(state), this.#askers)
  }

  /**
   * How many tokens at the beginning of a prompt prefill() and generate() would not read again now: what to ask several
   * contexts of one model for the one that is furthest with a prompt.
   */
  reusable(tokens: ArrayLike<number>, denseTail: number = this.#handle.denseTail): number {
    this.#handle.assertLive()
    count('denseTail', denseTail, 0)
    return this.#handle.reusable(tokenIds(tokens, this.#handle.nVocab), denseTail)
  }

  /**
   * Exactly one native decode call, appended: at most nBatch tokens (ERR_H2O_BATCH_TOO_LARGE). Other sequences wait for
   * all of it.
   */
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
      const call = await handle.decode(ids, mode, logits, { keys })
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
   * where tokens reach that code through a stream, an event or another generator, and where next() is called by hand
   * and its `value` is not read.
   */
  generate(prompt: Prompt, options?: GenerateOptions): Generation {
    return runGenerate(this.#handle, prompt, () => readOptions('generate', options, generateOptionNames))
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
    return this.#handle.takeTrace()
  }

  [handleOf](): ContextHandle {
    this.#handle.assertLive()
    return this.#handle
  }

  /** Aborts what runs, rejects what waits (ERR_H2O_DISPOSED), forgets what was read. A context frees its memory, too. */
  dispose(): Promise<void> {
    return this.#handle.dispose(this.#free)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
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
