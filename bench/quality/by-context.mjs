// Perplexity of the same tokens with more and more of the text before them, dense: what the model makes of length at
// all.

import { deviation } from '../../dist/cli/compare/deviation.js'
import { exponential, Mean } from '../../dist/cli/statistics.js'

const TARGETS = 512
const BATCH = 2048

/** Pieces of `size` tokens, the first `most` of them. */
export function windowsOf(tokens, size, most = Number.POSITIVE_INFINITY) {
  const count = Math.min(most, Math.floor(tokens.length / size))
  return Array.from({ length: count }, (_, i) => tokens.subarray(i * size, (i + 1) * size))
}

/**
 * @param {{ createContext: Function }} api  @param {{ windows: Int32Array[] }} of at least the longest length, without
 * BOS
 * @returns {Promise<{ length: number, n: number, ppl: number, uncertainty: number }[]>} one row per length
 */
export async function perplexityByContext(api, { model, windows, lengths, threads }) {
  const ctx = await api.createContext({
    model,
    nCtx: Math.max(...lengths),
    nBatch: BATCH,
    nThreads: threads,
    h2o: false,
  })
  try {
    const rows = []
    for (const length of lengths) {
      const mean = new Mean()
      for (const window of windows) {
        const ids = [...model.tokenize(''), ...window.subarray(window.length - length + 1)]
        for (const nll of await lossesOf(ctx, ids)) mean.add(nll)
      }
      const { value, uncertainty } = exponential(mean.estimate)
      rows.push({ length, n: windows.length * TARGETS, ppl: value, uncertainty })
    }
    return rows
  } finally {
    await ctx.dispose()
  }
}

/** Negative log likelihoods of the last TARGETS tokens. */
async function lossesOf(ctx, ids) {
  await ctx.clear()
  const scored = ids.length - TARGETS - 1
  for (let at = 0; at < scored; at += BATCH) {
    await ctx.decode(ids.slice(at, Math.min(scored, at + BATCH)), { logits: 'none' })
  }
  const { logits } = await ctx.decode(ids.slice(scored, -1), { logits: 'all' })
  const nVocab = logits.length / TARGETS
  return Array.from(
    { length: TARGETS },
    (_, i) => deviation(logits, logits, i * nVocab, nVocab, ids[scored + 1 + i]).nll,
  )
}
