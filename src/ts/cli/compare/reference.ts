// What the contexts of a comparison are held against: a dense context, a saved file, or stock llama.cpp.
import type { Context } from '../../index.js'
import { savedDeviation } from '../saved-logits/deviation.js'
import { firstSaved, type SavedRow } from '../saved-logits/format.js'
import type { SavedLogits } from '../saved-logits/reader.js'
import type { LogitsWriter } from '../saved-logits/writer.js'
import { type Deviation, deviation } from './deviation.js'

export interface CallPart {
  /** positions [pos, pos + n) of the window */
  pos: number
  n: number
  tokens: Int32Array
  /** whether anything of it counts */
  counts: boolean
  signal: AbortSignal
}

/** What is known of one call's positions. */
export interface ReferenceRows {
  /** n * nVocab logits of the call, where they are known as such */
  logits?: Float32Array
  /** Holds the logits of `position` in the window, which lie at `at`, against the reference's. */
  deviation(position: number, logits: Float32Array, at: number, nVocab: number, target: number): Deviation
}

export interface Reference {
  /** Goes to the begin of a window. */
  begin(window: number, tokens: Int32Array, signal: AbortSignal): Promise<void>
  /** The calls of a window, in order; null where nothing of the call counts. */
  call(part: CallPart): Promise<ReferenceRows | null>
  dispose(): Promise<void>
}

export function rowsOf(logits: Float32Array): ReferenceRows {
  return {
    logits,
    deviation: (_, other, at, nVocab, target) => deviation(logits, other, at, nVocab, target),
  }
}

/** A dense context, which reads every call itself. */
export function contextReference(context: Pick<Context, 'clear' | 'decode'>): Reference {
  return {
    begin: () => context.clear(),
    async call({ tokens, counts, signal }) {
      const { logits } = await context.decode(tokens, { logits: counts ? 'all' : 'none', signal })
      return logits && rowsOf(logits)
    },
    dispose: async () => {},
  }
}

/** A file that was saved; whoever opened it closes it. */
export function savedReference(file: SavedLogits): Reference {
  const { nCtx } = file.head
  let window = 0
  return {
    begin: async (index) => {
      window = index
    },
    async call({ pos, n, counts }) {
      const from = Math.max(pos, firstSaved(nCtx))
      const to = Math.min(pos + n, nCtx - 1)
      if (!counts || to <= from) return null
      const rows = await file.rows(window, from, to)
      return {
        deviation: (position, other, at, nVocab, target) =>
          savedDeviation(rows[position - from] as SavedRow, other, at, nVocab, target),
      }
    },
    dispose: async () => {},
  }
}

/** The same, whose logits go into a file besides. */
export function savingReference(reference: Reference, writer: LogitsWriter): Reference {
  return {
    ...reference,
    async call(part) {
      const saved = part.pos + part.n > firstSaved(writer.head.nCtx)
      const rows = await reference.call({ ...part, counts: part.counts || saved })
      if (rows?.logits) await writer.add(part.pos, part.n, rows.logits)
      return part.counts ? rows : null
    },
  }
}
