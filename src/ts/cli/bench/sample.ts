// What one measured prefill says.
import type { Path, Reason } from '../../index.js'

export interface Sample {
  /** from the start of the prefill to the argmax of the last token's logits */
  ttftMs: number
  /** user and system time of all threads meanwhile; null where the system does not say */
  cpuMs: number | null
  /** the first token, greedily */
  token: number
  /** the rest of the answer, each token greedily behind the one before; 0 where it ends with the first */
  answerMs: number
  answerCpuMs: number | null
  /** of the whole process, at its highest */
  peakRssBytes: number | null
  path: Path
  /** what only the addon tells */
  addon: AddonSample | null
}

/** Where the time of a prefill went, in a run of its own (bench/native/profile.h). */
export interface Profile {
  /** the prefill as it is, and cut where the kind of work changes: their difference is what profiling cost */
  plainMs: number
  totalMs: number
  partsMs: Record<ProfilePart, number>
}

/** attention: what lies between the store of K and V and the output projection, and is none of the other three */
export const profileParts = ['linear', 'intra', 'inter', 'selection', 'attention', 'other'] as const
export type ProfilePart = (typeof profileParts)[number]

export interface AddonSample {
  /** resident before the addon was loaded: Node itself */
  baseRssBytes: number
  reason: Reason | null
  chunks: number
  denseTail: number
  /** tokens of each native call */
  calls: number[]
  /** L and H after clamping */
  local: number
  heavy: number
  /** persistent H2O buffers, the intra cache of two-pass included */
  h2oBytes: number
  kvBytes: number
  computeBytes: number
  sparseGraphNodes: number
  /** tokens of the answer by sparse decoding */
  predictedSparse: number
  /** what the context warned about: sizes that were clamped */
  warnings: string[]
}
