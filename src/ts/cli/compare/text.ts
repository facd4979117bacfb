// The report as llama-perplexity --kl-divergence prints its own: one block per setting, then all of them in a table.

import type { Estimate } from '../statistics.js'
import type { BinFigures } from './bins.js'
import { describePath, describeRow } from './describe.js'
import type { Layout } from './layout.js'
import type { Row } from './outcome.js'
import type { Figures } from './tally.js'

export interface Heading {
  /** file and llama.cpp's description */
  model: string
  nTokens: number
  layout: Layout
}

export function renderText(heading: Heading, rows: readonly Row[]): string {
  return [caption(heading), ...rows.map(block), ...(rows.length > 1 ? [overview(rows)] : [])].join('\n')
}

function caption({ model, nTokens, layout }: Heading): string {
  const { nWindows, nWindow, nPrompt, nContinuation, first } = layout
  const windows = nWindows === 1 ? '1 window' : `${nWindows} windows`
  return (
    `${model}\n${nTokens} tokens, ${windows} of ${nWindow}: prompt ${nPrompt}, continuation ${nContinuation}; ` +
    `positions from ${first} on count\n`
  )
}

function block(row: Row): string {
  const q = row.path === 'h2o' ? 'h2o' : (row.reason ?? 'dense')
  const line = (label: string, cell: (figures: Figures, part: string) => string) => {
    const cells = parts.map((part) => cellOf(row[part], part, cell).padEnd(WIDTH))
    return `${label.padEnd(30)}: ${cells.join('  ')}`.trimEnd()
  }
  const lines = [
    `====== ${describeRow(row)}: ${describePath(row)} ======`,
    line('', (_, part) => part.padStart(10)),
    line('Tokens', ({ n }) => String(n).padStart(10)),
    line(`Mean PPL(${q})`, ({ ppl }) => estimate(ppl)),
    line('Mean PPL(dense)', ({ ppl_dense }) => estimate(ppl_dense)),
    line(`Mean ln(PPL(${q})/PPL(dense))`, ({ ln_ppl_ratio }) => estimate(ln_ppl_ratio)),
    line(`Mean PPL(${q})/PPL(dense)`, ({ ppl_ratio }) => estimate(ppl_ratio)),
    line('Mean    KLD', ({ kld }) => estimate(kld.mean)),
    line('Maximum KLD', ({ kld }) => number(kld.max)),
    line('99.9%   KLD', ({ kld }) => number(kld.p99_9)),
    line('99.0%   KLD', ({ kld }) => number(kld.p99)),
    line('95.0%   KLD', ({ kld }) => number(kld.p95)),
    line('90.0%   KLD', ({ kld }) => number(kld.p90)),
    line('Median  KLD', ({ kld }) => number(kld.median)),
    line('10.0%   KLD', ({ kld }) => number(kld.p10)),
    line(' 5.0%   KLD', ({ kld }) => number(kld.p5)),
    line('Minimum KLD', ({ kld }) => number(kld.min)),
    line('Same top p', ({ same_top_percent }) => `${estimate(same_top_percent, 3)} %`),
  ]
  return [
    ...lines,
    '',
    ...bins('Position in chunk', row.by_position_in_chunk),
    '',
    ...bins('Position in prompt', row.by_position_in_prompt),
    '',
  ].join('\n')
}

// of a column: an estimate
const WIDTH = 25
const parts = ['prompt', 'continuation'] as const

function cellOf(
  figures: Figures | null,
  part: string,
  cell: (figures: Figures, part: string) => string,
): string {
  return figures ? cell(figures, part) : ''
}

function estimate({ value, uncertainty }: Estimate, digits = 6): string {
  return `${number(value, digits)} ± ${uncertainty.toFixed(digits).padStart(digits + 4)}`
}

function number(value: number, digits = 6): string {
  return value.toFixed(digits).padStart(10)
}

function bins(title: string, figures: readonly BinFigures[]): string[] {
  return table(
    [title, 'tokens', 'mean KLD', 'PPL ratio', 'same top p'],
    figures.map(({ from, to, n, kld, ppl_ratio, same_top_percent }) => [
      `${from} .. ${to}`,
      String(n),
      kld.toFixed(6),
      ppl_ratio.toFixed(4),
      `${same_top_percent.toFixed(2)} %`,
    ]),
  )
}

function overview(rows: readonly Row[]): string {
  const part = (figures: Figures | null) =>
    figures
      ? [
          figures.ppl_ratio.value.toFixed(4),
          figures.kld.mean.value.toFixed(6),
          `${figures.same_top_percent.value.toFixed(2)} %`,
        ]
      : ['', '', '']
  const titles = ['path', 'prompt: ratio', 'KLD', 'same top p', 'continuation: ratio', 'KLD', 'same top p']
  const body = rows.map((row) => [
    describeRow(row),
    row.path === 'h2o' ? 'h2o' : `dense (${row.reason})`,
    ...part(row.prompt),
    ...part(row.continuation),
  ])
  return `${table(['All settings', ...titles], body).join('\n')}\n`
}

/** The first column to the left, the others to the right. */
function table(head: readonly string[], body: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, i) => Math.max(title.length, ...body.map((cells) => cells[i]?.length ?? 0)))
  return [head, ...body].map((cells) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}
