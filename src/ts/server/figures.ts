/** What an answer cost: OpenAI's usage, and llama.cpp's timings with what H2O did. */

import type { ContextH2o, GenerateSummary, Reason } from '../types.js'

export type Usage = ReturnType<typeof usageOf>
export type Timings = ReturnType<typeof timingsOf>

export function usageOf({ prefill, predicted }: GenerateSummary) {
  return {
    prompt_tokens: prefill.position,
    completion_tokens: predicted,
    total_tokens: prefill.position + predicted,
    prompt_tokens_details: { cached_tokens: prefill.cached },
  }
}

interface Beside {
  ttftMs: number
  /** Dense time of what was read over its own, where it can be predicted. */
  gain: number | undefined
  /** The request asked for dense attention. */
  wasOff: boolean
}

export function timingsOf(
  { prefill, timings }: GenerateSummary,
  { select }: ContextH2o,
  { ttftMs, gain, wasOff }: Beside,
) {
  const { path, schedule, chunks, denseTail, calls } = prefill
  const reason: Reason | null = wasOff && prefill.reason === 'one-chunk' ? 'off' : prefill.reason
  return {
    cache_n: timings.cacheN,
    prompt_n: timings.promptN,
    prompt_ms: timings.promptMs,
    prompt_per_token_ms: timings.promptPerTokenMs,
    prompt_per_second: timings.promptPerSecond,
    predicted_n: timings.predictedN,
    predicted_ms: timings.predictedMs,
    predicted_per_token_ms: timings.predictedPerTokenMs,
    predicted_per_second: timings.predictedPerSecond,
    ...(timings.draftN > 0 && { draft_n: timings.draftN, draft_n_accepted: timings.draftNAccepted }),
    h2o: {
      path,
      reason,
      schedule,
      select,
      chunks,
      dense_tail: denseTail,
      calls: calls.length,
      gain_predicted: gain ?? null,
      predicted_exact: timings.predictedExact,
      predicted_sparse: timings.predictedSparse,
      predicted_dense_reason: timings.predictedDenseReason,
      ttft_ms: ttftMs,
    },
  }
}
