/** Whether an answer is drafted from what stands before it, and where that cannot be. */

import type { ContextHandle } from './context-handle.js'
import { invalidArgument } from './errors.js'
import { policyOf } from './policies.js'
import { oneOf } from './validate.js'

export const specTypes = ['none', 'ngram-simple'] as const

/** llama.cpp's names (--spec-type). */
export type SpecType = (typeof specTypes)[number]

export const asksForDrafts = (specType: SpecType = 'none'): boolean => specType !== 'none'

/**
 * @param keys that a query head reads of the cache: 0 for all
 * Throws ERR_H2O_INVALID_ARGUMENT where refused tokens cannot be taken back, and for sparse decoding, which is one token's.
 */
export function isDrafted({ info, covered }: ContextHandle, specType: unknown, keys: number): boolean {
  if (!asksForDrafts(oneOf('specType', specType, 'none', specTypes))) return false
  const refuse = (why: string) => invalidArgument(`no answer can be drafted here: ${why}`, { specType })
  if (keys !== 0) throw refuse('drafts are checked by all keys, so decode must be 0')
  if (info.recurrent) throw refuse('the model has recurrent layers, which cannot forget a refused draft')
  if (covered && policyOf(info.select).hasMemory) {
    throw refuse(`select '${info.select}' keeps what a refused draft would change`)
  }
  return true
}
