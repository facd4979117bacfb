// What parity prints: a table for a person, one object for --json.
import { describeRow } from '../compare/describe.js'
import type { Layout } from '../compare/layout.js'
import type { Row } from '../compare/outcome.js'
import type { Verdict } from './verdicts.js'

export interface ParityReport {
  model: string
  description: string
  reference: { kind: 'stock' | 'file'; path: string }
  nTokens: number
  layout: Layout
  off: Row
  h2o: Row | undefined
  verdicts: readonly Verdict[]
  elapsedMs: number
}

/** The object that --json prints. Its names are permanent. */
export function toJson(report: ParityReport): Record<string, unknown> {
  const { model, description, reference, nTokens, layout, off, h2o, verdicts, elapsedMs } = report
  return {
    model,
    description,
    reference,
    n_tokens: nTokens,
    n_windows: layout.nWindows,
    n_window: layout.nWindow,
    first: layout.first,
    off,
    h2o: h2o ?? null,
    tolerances: verdicts,
    passed: verdicts.every(({ ok }) => ok),
    elapsed_ms: Math.round(elapsedMs),
  }
}

export function toText(report: ParityReport): string {
  const { model, description, reference, nTokens, layout, off, h2o, verdicts } = report
  const windows = layout.nWindows === 1 ? '1 window' : `${layout.nWindows} windows`
  const rows = [['H2O off', off] as const, ...(h2o ? [['H2O on', h2o] as const] : [])]
  return [
    `${model} (${description})`,
    `${nTokens} tokens, ${windows} of ${layout.nWindow}, positions from ${layout.first} on count`,
    `held against ${reference.kind === 'stock' ? 'stock llama.cpp' : 'the file'} ${reference.path}`,
    ...(h2o ? [`H2O on: ${describeRow(h2o)}`] : []),
    '',
    line('', 'tokens', 'identical', 'PPL', 'of reference', 'mean KLD', 'max KLD', 'same top p'),
    ...rows.map(([name, { prompt }]) =>
      line(
        name,
        String(prompt?.n),
        String(prompt?.identical),
        prompt?.ppl.value.toFixed(4),
        prompt?.ppl_ratio.value.toFixed(4),
        prompt?.kld.mean.value.toFixed(6),
        prompt?.kld.max.toFixed(6),
        `${prompt?.same_top_percent.value.toFixed(2)} %`,
      ),
    ),
    '',
    ...verdicts.map(({ ok, message }) => `${ok ? 'ok  ' : 'MISS'}  ${message}`),
    '',
  ].join('\n')
}

function line(name: string, ...cells: (string | undefined)[]): string {
  return name.padEnd(8) + cells.map((cell) => String(cell).padStart(13)).join('')
}
