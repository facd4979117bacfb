// The object that --json prints. Its names are permanent.
import type { Layout } from './layout.js'
import type { Row } from './outcome.js'
import type { Verdict } from './thresholds.js'

export interface Comparison {
  model: string
  description: string
  nTokens: number
  layout: Layout
  rows: readonly Row[]
  verdicts: readonly Verdict[]
  elapsedMs: number
}

export function toJson(comparison: Comparison): Record<string, unknown> {
  const { model, description, nTokens, layout, rows, verdicts, elapsedMs } = comparison
  return {
    model,
    description,
    n_tokens: nTokens,
    n_windows: layout.nWindows,
    n_window: layout.nWindow,
    n_prompt: layout.nPrompt,
    n_continuation: layout.nContinuation,
    first: layout.first,
    rows,
    thresholds: verdicts.map(({ message, ...verdict }) => verdict),
    passed: verdicts.every(({ ok }) => ok),
    elapsed_ms: Math.round(elapsedMs),
  }
}
