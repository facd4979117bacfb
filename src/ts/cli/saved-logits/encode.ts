// Logits in 16 bits, with the float32 arithmetic of llama-perplexity, so that equal logits make equal bytes.
import { rowBytes } from './format.js'

const f = Math.fround
/** Probabilities below exp(-16) of the likeliest count as that. */
const RANGE = 16
const STEPS = 65535
// adding and taking away 1.5 * 2^23 rounds a float32 to a whole number, halves to even ones
const MAGNITUDE = 12582912

/**
 * Writes the row of `nVocab` logits from `at` on into `out`, from byte `to` on.
 *
 * @throws Error for logits that are NaN or infinitely large: the format has no place for them
 */
export function encodeRow(logits: Float32Array, at: number, nVocab: number, out: Uint8Array, to = 0): void {
  let max = Number.NEGATIVE_INFINITY
  let min = Number.POSITIVE_INFINITY
  let sound = true
  for (let i = at; i < at + nVocab; i++) {
    const logit = logits[i] as number
    if (logit > max) max = logit
    if (logit < min) min = logit
    sound &&= logit < Number.POSITIVE_INFINITY // false for NaN
  }
  if (!sound || max === Number.NEGATIVE_INFINITY)
    throw new Error('logits that are not finite cannot be saved')
  min = Math.max(min, f(max - RANGE))
  let sum = 0
  for (let i = at; i < at + nVocab; i++) sum += f(Math.exp(f((logits[i] as number) - max)))

  const scale = f(f(max - min) / STEPS)
  const begin = out.byteOffset + to
  new Float32Array(out.buffer, begin, 2).set([scale, f(f(min - max) - f(Math.log(sum)))])
  const codes = new Uint16Array(out.buffer, begin + 8, (rowBytes(nVocab) - 8) / 2).fill(0)
  if (scale === 0) return
  const inverse = f(1 / scale)
  for (let i = 0; i < nVocab; i++) {
    const logit = logits[at + i] as number
    if (logit > min) codes[i] = f(f(inverse * f(logit - min)) + MAGNITUDE) - MAGNITUDE
  }
}
