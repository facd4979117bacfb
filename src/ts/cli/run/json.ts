// The object that --json prints. Its names are permanent: scripts and benchmarks read them.
import type { Call, Context, GenerateSummary } from '../../index.js'

export interface RunReport {
  model: string
  /** loading the model and making the context */
  loadMs: number
  context: Pick<Context, 'nBatch' | 'nUbatch' | 'h2o'>
  summary: GenerateSummary
  /** dense time of the prompt over its own, predicted */
  gain: number | undefined
}

export function toJson({ model, loadMs, context, summary, gain }: RunReport): Record<string, unknown> {
  const { prefill } = summary
  const { select, local, heavy, decode } = context.h2o
  return {
    model,
    prompt_n: prefill.tokens,
    cache_n: prefill.cached,
    path: prefill.path,
    reason: prefill.reason,
    schedule: prefill.schedule,
    select,
    chunks: prefill.chunks,
    dense_tail: prefill.denseTail,
    gain_predicted: gain === undefined ? null : round(gain),
    calls: prefill.calls.map(callOf),
    n_batch: context.nBatch,
    n_ubatch: context.nUbatch,
    h2o: { local, heavy, decode },
    timings: timingsOf(summary, loadMs),
    text: summary.text,
  }
}

function callOf({ n, pos, path, reason, inherited, exact }: Call) {
  return { n, pos, path, reason, inherited, exact }
}

function timingsOf({ prefill, predicted, timings }: GenerateSummary, loadMs: number) {
  return {
    load_ms: round(loadMs),
    prompt_ms: round(prefill.timings.promptMs),
    prompt_per_second: round(prefill.timings.promptPerSecond),
    // from the start of the prefill to the first token; null if none was asked for or came
    ttft_ms: predicted > 0 ? round(timings.ttftMs) : null,
    predicted_n: predicted,
    predicted_ms: round(timings.predictedMs),
    predicted_per_second: round(timings.predictedPerSecond),
    ...(timings.draftN > 0 && { draft_n: timings.draftN, draft_n_accepted: timings.draftNAccepted }),
    predicted_exact: timings.predictedExact,
    predicted_sparse: timings.predictedSparse,
    predicted_dense_reason: timings.predictedDenseReason,
  }
}

// microseconds are as far as a clock goes, and JSON knows no NaN
function round(value: number): number {
  return Number.isFinite(value) ? Math.round(value * 1000) / 1000 : 0
}
