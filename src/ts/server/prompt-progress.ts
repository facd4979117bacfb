/** How far a prompt has been read, as llama.cpp's server tells it in a stream. */

import type { Path, PrefillProgress } from '../types.js'

export interface PromptProgress {
  /** Tokens of the prompt. */
  total: number
  /** Those that were there already. */
  cache: number
  /** Those that are there now: `cache` and what was read. */
  processed: number
  /** Since the reading began. */
  time_ms: number
  /** Ours: 'h2o' once a part was read sparsely; null until a part has been read. */
  path: Path | null
}

/** What each progress of a prefill is to a client, from now on. */
export function promptProgress(nPrompt: number): (progress: PrefillProgress) => PromptProgress {
  const began = performance.now()
  let path: Path | null = null
  return ({ done, total, call }) => {
    if (call && path !== 'h2o') path = call.path
    const cache = nPrompt - total
    const time_ms = Math.round(performance.now() - began)
    return { total: nPrompt, cache, processed: cache + done, time_ms, path }
  }
}
