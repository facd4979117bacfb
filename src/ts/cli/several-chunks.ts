// What compare and inspect cannot do without: calls that hold more than one chunk.
import { UsageError } from './shell/usage-error.js'

/** @throws UsageError with the hint where no call could */
export function requireSeveralChunks(nBatch: number, nUbatch: number, hint: string): void {
  if (nBatch > nUbatch) return
  const message = `-b ${nBatch} is not above -ub ${nUbatch}: no call could hold more than one chunk, so none would be sparse`
  throw new UsageError(message, hint)
}
