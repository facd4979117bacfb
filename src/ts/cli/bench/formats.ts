// The four outputs of `bench`. md, csv and jsonl come group by group, json as one object at the end.

import type { Machine } from '../machine.js'
import { gibibytes } from '../shell/format.js'
import type { Spread } from '../statistics.js'
import type { OutputFormat } from './options.js'
import type { Row } from './rows.js'
import { profileParts } from './sample.js'

/** What stands above the figures. */
export interface Heading {
  model: string
  repetitions: number
  /** with columns for the answer */
  answer: boolean
  /** with columns for where the time goes */
  profile: boolean
  machine: Machine
}

export interface Formatter {
  begin(heading: Heading): string
  group(rows: readonly Row[]): string
  end(): string
}

export const formatters: Record<OutputFormat, () => Formatter> = {
  md: () => {
    let shown = columns
    return {
      begin: (heading) => {
        shown = [
          ...columns,
          ...(heading.answer ? answerColumns : []),
          ...(heading.profile ? profileColumns : []),
        ]
        const alignment = shown.map(([, , align]) => (align === 'left' ? '---' : '---:'))
        return `${caption(heading)}\n\n${markdownRow(shown.map(([title]) => title))}${markdownRow(alignment)}`
      },
      group: (rows) => rows.map((row) => markdownRow(shown.map(([, cell]) => cell(row)))).join(''),
      end: () => '',
    }
  },
  csv: () => ({
    begin: () => csvRow(csvColumns.map(([name]) => name)),
    group: (rows) => rows.map((row) => csvRow(csvColumns.map(([, value]) => value(row)))).join(''),
    end: () => '',
  }),
  json: () => {
    let heading: Heading
    const all: Row[] = []
    return {
      begin: (given) => {
        heading = given
        return ''
      },
      group: (rows) => {
        all.push(...rows)
        return ''
      },
      end: () => `${JSON.stringify({ ...heading, rows: all }, null, 2)}\n`,
    }
  },
  jsonl: () => ({
    begin: () => '',
    group: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
    end: () => '',
  }),
}

// biome-ignore format: a table
const columns: readonly Column[] = [
  ['n_prompt',       (row) => String(row.n_prompt)],
  ['contender',      (row) => row.contender, 'left'],
  ['-t',             (row) => String(row.n_threads)],
  ['-b',             (row) => String(row.n_batch)],
  ['-ub',            (row) => String(row.n_ubatch)],
  ['path',           pathOf, 'left'],
  ['n',              (row) => String(row.n)],
  ['TTFT s',         (row) => spreadText(row.ttft_ms, 1e-3, 2)],
  ['tok/s',          (row) => row.tokens_per_second.toFixed(row.tokens_per_second < 100 ? 1 : 0)],
  ['CPU s',          (row) => row.cpu_ms ? (row.cpu_ms.median / 1e3).toFixed(2) : ''],
  ['peak RSS MiB',   (row) => mebibytes(row.peak_rss_bytes)],
  ['H2O MiB',        (row) => row.h2o ? mebibytes(row.h2o_bytes, 2) : ''],
  ['speed-up',       (row) => row.speedup ? spreadText(row.speedup, 1, 2) : ''],
  ['by CPU time',    (row) => row.cpu_speedup ? row.cpu_speedup.median.toFixed(2) : ''],
  ['against',        (row) => row.against ?? '', 'left'],
]

// biome-ignore format: a table
const answerColumns: readonly Column[] = [
  ['answer',           (row) => String(row.n_gen)],
  ['answer tok/s',     answerRate],
  ['request s',        (row) => spreadText(row.request_ms, 1e-3, 2)],
  ['request speed-up', (row) => row.request_speedup ? spreadText(row.request_speedup, 1, 2) : ''],
  ['against',          (row) => row.request_against ?? '', 'left'],
]

// their sum is 100; the attention of stock has no parts
const profileColumns: readonly Column[] = profileParts.map((part) => [
  part === 'attention' ? 'rest of attention %' : `${part} %`,
  ({ profile }) => (profile ? (100 * profile.shares[part]).toFixed(1) : ''),
])

type Column = readonly [title: string, cell: (row: Row) => string, align?: 'left']

function caption({ model, repetitions, machine }: Heading): string {
  const { cpu, cores, memory_bytes, system } = machine
  const memory = gibibytes(memory_bytes, 0)
  return `${model}; ${cpu}, ${cores} cores, ${memory}, ${system}; median (lowest .. highest) of ${repetitions}`
}

/** `20.1`, and with sparse decoding how many tokens were: `20.1 (127 sparse)` */
function answerRate({ answer_tokens_per_second: rate, predicted_sparse: n }: Row): string {
  if (rate === null) return ''
  return `${rate.toFixed(1)}${n > 0 ? ` (${n} sparse)` : ''}`
}

function pathOf({ path, reason, chunks, dense_tail, contender }: Row): string {
  if (path === 'h2o' && chunks === 0) return 'h2o'
  if (path === 'h2o') return `h2o, ${chunks} chunks${dense_tail > 0 ? ` + ${dense_tail} dense` : ''}`
  return reason === null || contender === 'dense' ? 'dense' : `dense (${reason})`
}

// biome-ignore format: a table
const csvColumns: readonly (readonly [string, (row: Row) => string | number | null])[] = [
  ['n_prompt', (row) => row.n_prompt], ['contender', (row) => row.contender], ['n_threads', (row) => row.n_threads],
  ['n_batch', (row) => row.n_batch], ['n_ubatch', (row) => row.n_ubatch], ['flash_attn', (row) => row.flash_attn],
  ['path', (row) => row.path], ['reason', (row) => row.reason], ['chunks', (row) => row.chunks],
  ['dense_tail', (row) => row.dense_tail], ['n', (row) => row.n],
  ['ttft_ms', (row) => row.ttft_ms.median], ['ttft_ms_min', (row) => row.ttft_ms.min], ['ttft_ms_max', (row) => row.ttft_ms.max],
  ['tokens_per_second', (row) => row.tokens_per_second], ['cpu_ms', (row) => row.cpu_ms?.median ?? null],
  ['peak_rss_bytes', (row) => row.peak_rss_bytes], ['base_rss_bytes', (row) => row.base_rss_bytes],
  ['h2o_bytes', (row) => row.h2o_bytes], ['kv_bytes', (row) => row.kv_bytes], ['compute_bytes', (row) => row.compute_bytes],
  ['sparse_graph_nodes', (row) => row.sparse_graph_nodes], ['against', (row) => row.against],
  ['speedup', (row) => row.speedup?.median ?? null], ['speedup_min', (row) => row.speedup?.min ?? null],
  ['speedup_max', (row) => row.speedup?.max ?? null], ['cpu_speedup', (row) => row.cpu_speedup?.median ?? null],
  ['n_gen', (row) => row.n_gen], ['answer_ms', (row) => row.answer_ms?.median ?? null],
  ['answer_cpu_ms', (row) => row.answer_cpu_ms?.median ?? null],
  ['answer_tokens_per_second', (row) => row.answer_tokens_per_second], ['predicted_sparse', (row) => row.predicted_sparse],
  ['request_ms', (row) => row.request_ms.median], ['request_speedup', (row) => row.request_speedup?.median ?? null],
  ['request_against', (row) => row.request_against],
  ...profileParts.map((part) => [`share_${part}`, (row: Row) => row.profile?.shares[part] ?? null] as const),
]

function spreadText({ median, min, max }: Spread, scale: number, digits: number): string {
  const text = (value: number) => (value * scale).toFixed(digits)
  return min === max ? text(median) : `${text(median)} (${text(min)} .. ${text(max)})`
}

function mebibytes(bytes: number | null, digits = 0): string {
  return bytes === null ? '' : (bytes / 2 ** 20).toFixed(digits)
}

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |\n`
}

function csvRow(cells: readonly (string | number | null)[]): string {
  return `${cells.map(csvCell).join(',')}\n`
}

function csvCell(value: string | number | null): string {
  const text = value === null ? '' : String(value)
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
