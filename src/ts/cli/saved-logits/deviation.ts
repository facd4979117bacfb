// Logits against a saved row, as llama-perplexity --kl-divergence has it, in float64.
import type { Deviation } from '../compare/deviation.js'
import { encodeRow } from './encode.js'
import { rowBytes, rowOf, type SavedRow } from './format.js'

/** Saved log probabilities below count for nothing: they are mostly those that the format could not hold. */
const LEAST = -16

/**
 * Compares a saved row with `nVocab` logits from `at` on; `target` is the token that follows. `identical`: the logits
 * make the same 16 bits. The divergence of a row from itself is not quite 0: its probabilities are rounded.
 */
export function savedDeviation(
  saved: SavedRow,
  logits: Float32Array,
  at: number,
  nVocab: number,
  target: number,
): Deviation {
  const { scale, min, codes } = saved
  let top = 0
  let topSaved = 0
  for (let i = 1; i < nVocab; i++) {
    if ((logits[at + i] as number) > (logits[at + top] as number)) top = i
    if ((codes[i] as number) > (codes[topSaved] as number)) topSaved = i
  }
  const max = logits[at + top] as number
  let sum = 0
  for (let i = at; i < at + nVocab; i++) sum += Math.exp((logits[i] as number) - max)
  const norm = max + Math.log(sum)
  let kld = 0
  for (let i = 0; i < nVocab; i++) {
    const logP = scale * (codes[i] as number) + min
    if (logP > LEAST) kld += Math.exp(logP) * (logP - (logits[at + i] as number) + norm)
  }
  return {
    nll: norm - (logits[at + target] as number),
    nllDense: -(scale * (codes[target] as number) + min),
    kld,
    sameTop: top === topSaved,
    identical: Number.isFinite(norm) && hasCodes(saved, logits, at, nVocab),
  }
}

// without min: log sums of other builds may differ in the last bit, and all other bits follow from the logits alone
function hasCodes({ scale, codes }: SavedRow, logits: Float32Array, at: number, nVocab: number): boolean {
  const bytes = new Uint8Array(rowBytes(nVocab))
  encodeRow(logits, at, nVocab, bytes)
  const row = rowOf(bytes, 0, nVocab)
  return row.scale === scale && row.codes.every((code, i) => code === codes[i])
}
