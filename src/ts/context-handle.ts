/**
 * One sequence of a native context, with what every operation on it shares: turns, abort, position, disposal.
 *
 * An operation (a whole prefill, a whole generation) takes its turn, then makes one native call after the other. The
 * scheduler says when each of these runs beside those of other sequences.
 */

import { ContextTokens } from './context-tokens.js'
import { callNative, disposedError, fromNative, H2oError, invalidArgument } from './errors.js'
import { History } from './history.js'
import type { NativeCall, NativeContext, NativeContextInfo, NativeSampling } from './native/surface.js'
import { outputs } from './native/surface.js'
import { OperationQueue, type TurnKind } from './operation-queue.js'
import { checkDecode } from './options.js'
import { Places } from './places.js'
import { lookBack } from './sampling.js'
import { maxPriority, type Scheduler } from './scheduler.js'
import { refuseInsideLoop } from './token-loop.js'
import type { H2oTraceEntry, LoadedState } from './types.js'

export type LogitsMode = keyof typeof outputs

/** What the sequences of a context share. */
export interface SharedContext {
  readonly native: NativeContext
  readonly info: NativeContextInfo
  readonly nVocab: number
  /** Of a prompt: its last tokens that are to go in dense calls. */
  readonly denseTail: number
  readonly flashAttn: string
  readonly upstreamProducts: boolean
  readonly scheduler: Scheduler
  /** How many they are. */
  readonly parallel: number
  /** They share their cells: the first one reads, the others are askers. */
  readonly kvUnified: boolean
}

export interface CallOptions {
  /** The next token is sampled from the last logits: false */
  draw?: boolean | undefined
  /** Those that a query head reads of the cache, if the call is short: what keysOf() gave; 0 is all. 0 */
  keys?: number | undefined
  /** Tokens that may be drafted behind a single one, where startSampling() was given `drafts`: 0 */
  draft?: number | undefined
  /** Tokens of the prompt that this call begins; 0 in its further pieces. The call alone */
  expected?: number | undefined
  /** Among prompts of other sequences: 0 */
  priority?: number | undefined
}

export class ContextHandle {
  /** Tokens in the sequence, as of the last native call that ended. */
  position = 0
  /** Tokens that it holds at most. */
  nCtx: number
  readonly places = new Places()
  readonly history: History
  readonly #tokens = new ContextTokens()
  readonly #queue: OperationQueue
  #disposal: Promise<void> | undefined
  /** A state takes the place of what the sequence holds. */
  #isReplaced = false

  constructor(
    readonly shared: SharedContext,
    readonly sequence: number,
  ) {
    this.nCtx = shared.info.nCtx
    this.#queue = new OperationQueue(shared.parallel - 1)
    this.history = new History(shared.info, this.isAlone, shared, this.#tokens)
  }

  get info(): NativeContextInfo {
    return this.shared.info
  }

  get nVocab(): number {
    return this.shared.nVocab
  }

  get denseTail(): number {
    return this.shared.denseTail
  }

  /** No other sequence waits for its prompts. */
  get isAlone(): boolean {
    const { parallel, kvUnified } = this.shared
    return parallel === 1 || (kvUnified && this.sequence === 0)
  }

  get disposed(): boolean {
    return this.#disposal !== undefined
  }

  get covered(): boolean {
    return this.info.reason === null
  }

  assertLive(): void {
    if (this.disposed) throw disposedError(this.#what)
  }

  /** Waits for its turn, runs, and ends the turn. */
  async operate<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const end = await this.begin(signal)
    try {
      return await this.abortable(signal, work)
    } finally {
      end()
    }
  }

  /** @param kind 'beside': what goes on behind the sequence and leaves it as it is */
  async begin(signal: AbortSignal | undefined, kind?: TurnKind): Promise<() => void> {
    this.assertLive()
    refuseInsideLoop(this)
    return this.#queue.take(signal, kind)
  }

  /** Runs work of the current turn. An abort ends the running native call and rejects with the signal's reason. */
  async abortable<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const onAbort = () => this.abort()
    this.assertLive()
    signal?.throwIfAborted()
    signal?.addEventListener('abort', onAbort)
    try {
      return await work()
    } catch (error) {
      if (error instanceof H2oError && error.code === 'ERR_H2O_INTERRUPTED') {
        this.assertLive()
        signal?.throwIfAborted()
      }
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Ends the outstanding calls of the sequence: they reject with ERR_H2O_INTERRUPTED. */
  abort(): void {
    this.shared.scheduler.cancel(this.sequence)
    this.#native.abort(this.sequence)
  }

  /** Of the running call, 0 to 1. */
  progress(): number {
    return this.#native.progress(this.sequence)
  }

  async tokenize(
    text: string,
    addSpecial: boolean,
    parseSpecial: boolean,
    priority: number,
  ): Promise<Int32Array> {
    const { sequence } = this
    return this.#move(sequence, priority, () =>
      this.#native.tokenize(sequence, text, addSpecial, parseSpecial),
    )
  }

  /**
   * From here on `draw` takes tokens as `sampling` says, behind `next`, which is to be read at `position`. Throws
   * ERR_H2O_INVALID_ARGUMENT for an invalid grammar or schema.
   *
   * @param drafts what was read before may be drafted again
   */
  async startSampling(
    sampling: NativeSampling,
    position: number,
    next: Int32Array,
    drafts: boolean,
  ): Promise<void> {
    const { nCtx } = this
    const repeatLastN = Math.min(sampling.repeatLastN, nCtx)
    const dryPenaltyLastN = Math.min(sampling.dryPenaltyLastN, nCtx)
    const past = this.#tokens.last(Math.min(lookBack(sampling), nCtx), position, next)
    const own = { ...sampling, repeatLastN, dryPenaltyLastN }
    const history = drafts ? this.#tokens.last(position + next.length, position, next) : null
    await this.#call(() => this.#native.startSampling(this.sequence, own, past, history))
  }

  /** Whether a token ends a generation. */
  isEog(token: number): boolean {
    return callNative(() => this.#native.isEog(token))
  }

  /** The bytes of a token: possibly a part of a UTF-8 character; none of a special one without `special`. */
  piece(token: number, special = false): Uint8Array {
    return callNative(() => this.#native.piece(token, special))
  }

  /** Keys that a query head reads in calls that say `decode`. Throws ERR_H2O_INVALID_ARGUMENT. */
  keysOf(decode: unknown): number {
    const keys = checkDecode(decode) ?? this.info.decode
    const reason = this.info.decodeReason
    if (keys !== 0 && reason !== null) {
      const why = reason === 'off' ? "it was made without h2o.decode, or 'auto' is none there" : reason
      throw invalidArgument(`no call of this context can decode sparsely: ${why}`, { decode, reason })
    }
    return keys
  }

  /** One llama_decode call. */
  async decode(
    tokens: Int32Array,
    mode: LogitsMode,
    out: Float32Array | null,
    { draw = false, keys = 0, draft = 0, expected = tokens.length, priority = 0 }: CallOptions = {},
  ): Promise<NativeCall> {
    const { sequence } = this
    const work = async () => {
      this.assertLive()
      return this.#native.decode(sequence, tokens, outputs[mode], out, draw, keys, expected, draft)
    }
    const { scheduler } = this.shared
    const [token, ...more] = tokens.subarray(0, 2)
    const isStep = token !== undefined && more.length === 0
    const isRow = isStep && mode === 'none' && draw && keys === 0 && draft === 0
    const call = await this.#call(() =>
      isRow
        ? scheduler.runRow(sequence, token, work)
        : scheduler.run(isStep ? 'step' : 'prompt', sequence, priority, work),
    )
    this.#moved(call.position)
    this.#tokens.add(tokens, call.pos)
    if (call.more) {
      const accepted = [call, ...call.more].slice(0, -1).map(({ token }) => token as number)
      this.#tokens.add(Int32Array.from(accepted), call.pos + 1)
    }
    this.history.add(call.n, call.pos, call.path)
    return call
  }

  /** Forgets the positions [from, to); without `to`, everything from there on. */
  async forget(from: number, to = -1): Promise<void> {
    const position = await this.#call(() => this.#native.forget(this.sequence, from, to))
    this.#cut(from)
    this.#tokens.forget(from, to < 0 ? undefined : to)
    this.#moved(position)
  }

  /** From now on it holds the first `n` tokens of `reader`, in the same cells, and room for so many more. */
  async goOnBehind(reader: ContextHandle, n: number, room: number): Promise<void> {
    const position = await this.#call(() => this.#native.fork(this.sequence, reader.sequence, n))
    this.#tokens.add(reader.#tokens.first(n), 0)
    this.position = position
    this.nCtx = position + room
  }

  async save(): Promise<Uint8Array> {
    return this.#move(this.sequence, maxPriority, () => this.#native.save(this.sequence, this.history.save()))
  }

  /**
   * save(), if so many bytes are wanted; else undefined, and no memory was taken.
   *
   * @param sequence that it is for: an abort of another one ends it not
   */
  async saveIf(
    isWanted: (bytes: number) => boolean,
    sequence = this.sequence,
  ): Promise<Uint8Array | undefined> {
    return this.#move(sequence, maxPriority, async () => {
      const note = this.history.save()
      const bytes = note.byteLength + (await this.#native.stateSize(this.sequence))
      return isWanted(bytes) ? this.#native.save(this.sequence, note) : undefined
    })
  }

  /** As History.reusable(), of what it holds now. */
  reusable(prompt: Int32Array, denseTail: number): number {
    return this.history.reusable(prompt, denseTail, this.position)
  }

  /** A copy of the tokens that a prompt may begin with, so that they are not read again. */
  held(): Int32Array {
    return this.history.held(this.position).slice()
  }

  /** The same for another sequence: none while a state takes their place, since save() would come behind it. */
  offered(): Int32Array {
    return this.#isReplaced ? new Int32Array(0) : this.held()
  }

  /** `state` must be nobody else's: another thread reads it. */
  async restore(state: Uint8Array): Promise<LoadedState> {
    this.#isReplaced = true
    try {
      const { position, inherited, reason, note } = await this.#move(this.sequence, maxPriority, () =>
        this.#native.restore(this.sequence, state),
      )
      this.#cut(0)
      this.#tokens.forget(0)
      this.#moved(position)
      this.history.restore(note, position)
      return this.places.add({ position, inherited, reason: reason as LoadedState['reason'] })
    } finally {
      this.#isReplaced = false
    }
  }

  takeTrace(): H2oTraceEntry[] {
    return this.#native.takeTrace(this.sequence)
  }

  /** Aborts what runs, rejects what waits, then frees what the sequence holds by `free`. Once. */
  dispose(free: () => Promise<void>): Promise<void> {
    if (!this.#disposal) {
      this.#queue.close(disposedError(this.#what))
      this.abort()
      this.#disposal = free()
    }
    return this.#disposal
  }

  get #native(): NativeContext {
    return this.shared.native
  }

  get #what(): 'context' | 'sequence' {
    return this.sequence === 0 || this.shared.kvUnified ? 'context' : 'sequence'
  }

  #moved(position: number): void {
    if (position < this.position) {
      this.#cut(position)
      this.#tokens.forget(position)
    }
    this.position = position
  }

  #cut(at: number): void {
    this.places.cut(at)
    this.history.cut(at)
  }

  /** What takes the context's thread longer than a token: by turns with those of others. */
  #move<T>(sequence: number, priority: number, work: () => Promise<T>): Promise<T> {
    return this.#call(() =>
      this.shared.scheduler.run('move', sequence, priority, async () => {
        this.assertLive()
        return work()
      }),
    )
  }

  /** Native failures become H2oErrors, and tell the position after a rollback. */
  async #call<T>(work: () => T | Promise<T>): Promise<T> {
    this.assertLive()
    try {
      return await work()
    } catch (error) {
      const known = fromNative(error)
      if (known instanceof H2oError) {
        const { position } = known.details
        if (typeof position === 'number') this.#moved(position)
      }
      throw known
    }
  }
}
