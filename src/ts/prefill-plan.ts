/** How a prompt is cut into native calls. */

import { invalidArgument } from './errors.js'
import { count } from './validate.js'

const maxCalls = 2 ** 24

/**
 * The sizes of the calls that prefill n tokens: 8692 at nBatch 4096 and nUbatch 1024 give 4096, 3072, 1524.
 *
 * With H2O on, every call but the last is a multiple of nUbatch, and the last has more than nUbatch tokens whenever
 * nBatch is at least three of them: a short rest would be a dense tail. At two of them it cannot be avoided.
 *
 * The last `denseTail` tokens go in calls of at most nUbatch, which are dense: they see the whole cache. What fits one
 * chunk is dense in any case, and not cut.
 *
 * Throws ERR_H2O_INVALID_ARGUMENT for what is no count, and for more than 16777216 calls.
 */
export function planPrefill(
  n: number,
  nBatch: number,
  nUbatch: number,
  h2oOn: boolean,
  denseTail = 0,
): number[] {
  count('n', n, 0)
  count('nBatch', nBatch, 1)
  count('nUbatch', nUbatch, 1)
  count('denseTail', denseTail, 0)
  if (n / nBatch + Math.min(denseTail, n) / nUbatch > maxCalls) {
    throw invalidArgument(`${n} tokens in calls of ${nBatch} are too many calls`, { n, nBatch, nUbatch })
  }
  const sparse = h2oOn && nBatch > nUbatch && n > nUbatch
  if (!sparse) return cut(n, nBatch, nUbatch, false)
  const tail = Math.min(denseTail, n)
  const calls = cut(n - tail, nBatch, nUbatch, true)
  for (let rest = tail; rest > 0; rest -= nUbatch) calls.push(Math.min(rest, nUbatch))
  return calls
}

/**
 * The same calls in pieces of a chunk at most, so that others have their turns between them. A call that is sparse as a
 * whole is sparse in pieces: its first piece says how many tokens are `expected`. A short call ends what was expected before.
 */
export function cutIntoPieces(plan: readonly number[], nUbatch: number): { n: number; expected: number }[] {
  return plan.flatMap((call) =>
    cut(call, nUbatch, nUbatch, false).map((n, i) => ({ n, expected: i === 0 ? call : 0 })),
  )
}

function cut(n: number, nBatch: number, nUbatch: number, sparse: boolean): number[] {
  const most = sparse ? nBatch - (nBatch % nUbatch) : nBatch
  const calls: number[] = []
  let rest = n
  while (rest > nBatch) {
    const leavesTail = sparse && rest - most <= nUbatch && most >= 3 * nUbatch
    const call = leavesTail ? most - nUbatch : most
    calls.push(call)
    rest -= call
  }
  if (rest > 0) calls.push(rest)
  return calls
}
