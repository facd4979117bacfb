/** How a prompt is cut into native calls. */

/**
 * The sizes of the calls that prefill n tokens: 8692 at nBatch 4096 and nUbatch 1024 give 4096, 3072, 1524.
 *
 * With H2O on, every call but the last is a multiple of nUbatch, and the last has more than nUbatch tokens whenever
 * nBatch is at least three of them: a short rest would be a dense tail. At two of them it cannot be avoided.
 *
 * The last `denseTail` tokens go in calls of at most nUbatch, which are dense (docs/experiments.md).
 */
export function planPrefill(
  n: number,
  nBatch: number,
  nUbatch: number,
  h2oOn: boolean,
  denseTail = 0,
): number[] {
  const sparse = h2oOn && nBatch > nUbatch
  if (sparse && denseTail > 0) {
    const tail = Math.min(denseTail, n)
    const calls = planPrefill(n - tail, nBatch, nUbatch, h2oOn)
    for (let rest = tail; rest > 0; rest -= nUbatch) calls.push(Math.min(rest, nUbatch))
    return calls
  }
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
