// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// A llama_context in float64: a cache that calls fill, and the H2O state that sparse calls hand on.

import { denseAttention } from '../model/dense.js'
import { KvCache } from '../model/kv-cache.js'
import type { ReferenceModel } from '../model/model.js'
import { forward } from '../model/transformer.js'
import type { ChunkTrace, SparseCall, SparseSchedule } from './h2o.js'
import { type BlockTrace, type QueryCall, queryPass } from './query-pass.js'
import type { Budget } from './selection.js'
import { singlePass } from './single-pass.js'
import { emptyState, type HeadState, rollbackState } from './state.js'
import { twoPass } from './two-pass.js'

const schedules = { 'single-pass': singlePass, 'two-pass': twoPass } satisfies Record<string, SparseSchedule>

export type Schedule = keyof typeof schedules

/** S tokens per chunk (n_ubatch), L and H positions of memory, clamped already: L < S, and L + H < S by 'votes'. */
export interface SessionOptions extends Budget {
  S: number
  /** 'single-pass' */
  schedule?: Schedule | undefined
  /** 'votes'; 'query' is single-pass */
  select?: 'votes' | 'query' | undefined
}

export interface CallResult {
  path: 'h2o' | 'dense'
  /** position of the first token */
  pos: number
  n: number
  /** of n positions and n_vocab numbers each, row by row */
  logits: Float64Array
  /** positions before the call that its first chunk could attend to; 0 for a dense call */
  inherited: number
  /** chunks of a sparse call, a partial tail included; 0 for a dense call */
  chunks: number
  /** one entry per layer and chunk, ordered by layer, then chunk; empty for a dense call, and with 'query' */
  trace: ChunkTrace[]
  /** with 'query': one entry per block, ordered by layer, chunk, query head and block */
  blocks: BlockTrace[]
}

/**
 * One `call` is one llama_decode call: sparse iff it holds more than S tokens and L + H > 0.
 * S, L, H of 0 make a session that is always dense.
 */
export class ReferenceSession {
  readonly model: ReferenceModel
  readonly options: SessionOptions
  #cache: KvCache
  #state: HeadState[][]

  constructor(model: ReferenceModel, options: SessionOptions) {
    const { S, L, H, select } = options
    const bounded = select === 'query' ? L : L + H
    if (L + H > 0 && bounded >= S) throw new RangeError(`L = ${L} and H = ${H} are too many for S = ${S}`)
    this.model = model
    this.options = options
    this.#cache = new KvCache(model.hparams.nLayer)
    this.#state = emptyState(model.hparams)
  }

  /** tokens in the context */
  get position(): number {
    return this.#cache.length
  }

  /** what the next sparse call would inherit, [layer][kv head]; read only */
  get state(): readonly (readonly HeadState[])[] {
    return this.#state
  }

  /**
   * Appends the tokens. `forcedMemory` ('votes') and `forcedBlocks` ('query') replay somebody else's memory sets; scores
   * are the reference's own.
   */
  call(
    tokens: ArrayLike<number>,
    {
      forcedMemory,
      forcedBlocks,
      mass,
    }: Pick<SparseCall & QueryCall, 'forcedMemory' | 'forcedBlocks' | 'mass'> = {},
  ): CallResult {
    const { S, L, H, schedule = 'single-pass', select = 'votes' } = this.options
    const n = tokens.length
    const pos = this.position
    if (n === 0) throw new RangeError('a call holds at least one token')

    if (L + H === 0 || n <= S) {
      const attend = denseAttention(this.model, this.#cache)
      const logits = forward(this.model, tokens, { base: pos, attend, store: this.#cache })
      return { path: 'dense', pos, n, logits, inherited: 0, chunks: 0, trace: [], blocks: [] }
    }
    const chunks = Math.ceil(n / S)

    if (select === 'query') {
      const blocks: BlockTrace[] = []
      const logits = queryPass(this.model, tokens, this.#cache, { S, L, H, blocks, forcedBlocks })
      const { nNear } = blocks[0]!
      const inherited = nNear + Math.min(H, pos - nNear)
      return { path: 'h2o', pos, n, logits, inherited, chunks, trace: [], blocks }
    }

    const trace: ChunkTrace[] = []
    const call = { S, L, H, state: this.#state, trace, forcedMemory, mass }
    const logits = schedules[schedule](this.model, tokens, this.#cache, call)
    const inherited = trace[0]!.heads[0]!.memPos.length
    return { path: 'h2o', pos, n, logits, inherited, chunks, trace, blocks: [] }
  }

  /** Forgets every position >= p (llama_memory_seq_rm(0, p, -1)). */
  rollback(p: number): void {
    this.#cache.truncate(p)
    rollbackState(this.#state, p)
  }

  clear(): void {
    this.rollback(0)
  }
}

/** Sum of squared differences over the sum of squares of `expected`: 0 is equal, 1 is unrelated. */
export function nmse(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length)
    throw new RangeError(`${actual.length} numbers against ${expected.length}`)
  let error = 0
  let total = 0
  for (let i = 0; i < expected.length; i++) {
    error += (actual[i]! - expected[i]!) ** 2
    total += expected[i]! ** 2
  }
  return error / total
}
