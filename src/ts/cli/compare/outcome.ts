// What became of one setting: its deviations from the dense run, and which path its calls really took.
import type { Call, Path, Reason, Schedule, Selection } from '../../index.js'
import { type BinFigures, Bins } from './bins.js'
import type { Deviation } from './deviation.js'
import type { Layout } from './layout.js'
import { type Figures, Tally } from './tally.js'

/** One setting in --json. Its names are permanent. */
export interface Row {
  schedule: Schedule
  select: Selection
  n_batch: number
  n_ubatch: number
  /** L and H after clamping, and the tokens at the end of each prompt that were prefilled densely */
  h2o: { local: number; heavy: number; dense_tail: number }
  /** h2o if any call of a prompt was sparse */
  path: Path
  /** why no call was; null if one was */
  reason: Reason | null
  /** tokens of all prompts, and those of them in sparse calls */
  prompt_n: number
  sparse_n: number
  /** chunks of all sparse calls */
  chunks: number
  /** the calls of the first window's prompt */
  calls: Omit<Call, 'chunks' | 'decode' | 'decodeReason'>[]
  prompt: Figures | null
  continuation: Figures | null
  /** of the prompt */
  by_position_in_chunk: BinFigures[]
  by_position_in_prompt: BinFigures[]
}

export type RowHead = Pick<Row, 'schedule' | 'select' | 'n_batch' | 'n_ubatch' | 'h2o'>

export class Outcome {
  readonly head: RowHead
  readonly #nPrompt: number
  readonly #prompt = new Tally()
  readonly #continuation = new Tally()
  readonly #inChunk: Bins
  readonly #inPrompt: Bins
  readonly #calls: Call[] = []

  constructor(head: RowHead, { nPrompt, first }: Pick<Layout, 'nPrompt' | 'first'>) {
    this.head = head
    this.#nPrompt = nPrompt
    this.#inChunk = new Bins(0, head.n_ubatch)
    this.#inPrompt = new Bins(first, nPrompt)
  }

  addCall(call: Call): void {
    if (call.pos < this.#nPrompt) this.#calls.push(call)
  }

  add(position: number, deviation: Deviation): void {
    if (position >= this.#nPrompt) {
      this.#continuation.add(deviation)
      return
    }
    this.#prompt.add(deviation)
    this.#inChunk.add(position % this.head.n_ubatch, deviation)
    this.#inPrompt.add(position, deviation)
  }

  row(): Row {
    const sparse = this.#calls.filter((call) => call.path === 'h2o')
    const later = this.#calls.findIndex((call, i) => i > 0 && call.pos === 0)
    return {
      ...this.head,
      path: sparse.length > 0 ? 'h2o' : 'dense',
      reason: sparse.length > 0 ? null : (this.#calls[0]?.reason ?? null),
      prompt_n: sum(this.#calls.map(({ n }) => n)),
      sparse_n: sum(sparse.map(({ n }) => n)),
      chunks: sum(sparse.map(({ chunks }) => chunks)),
      calls: this.#calls
        .slice(0, later < 0 ? undefined : later)
        .map(({ chunks, decode, decodeReason, ...call }) => call),
      prompt: this.#prompt.figures(),
      continuation: this.#continuation.figures(),
      by_position_in_chunk: this.#inChunk.figures(),
      by_position_in_prompt: this.#inPrompt.figures(),
    }
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
