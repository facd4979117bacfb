// What the figures are held against. Every target gives its value from the rows that are there, or null.

import { S } from './cases.mjs'

/**
 * @typedef {{ name: string, rows: object[] }} Run
 * @typedef {{ what: string, value: number | null, least?: number, most?: number, aim?: number, note?: string }} Target
 */

const SPEEDUPS = [
  [4096, 1.5, 1.7],
  [8192, 2.3, 2.7],
  [16384, 4, 4.8],
  [32768, 7, 9],
]

/** @param {Run[]} runs @returns {Target[]} */
export function targetsOf(runs) {
  const rows = (name) => runs.filter((run) => run.name === name).flatMap((run) => run.rows)
  const lengths = rows('lengths')
  return [
    ...speedups(lengths, 'h2o'),
    ...(lengths.some(({ contender }) => contender === 'h2o-query') ? speedups(lengths, 'h2o-query') : []),
    {
      what: 'tokens/s at 32768 against 4096',
      value: ratio(speed(lengths, 32768), speed(lengths, 4096)),
      least: 0.85,
      aim: 0.95,
      note: cpuNote(find(lengths, 'h2o', 4096), find(lengths, 'h2o', 32768)),
    },
    ...attention(lengths),
    ...between(rows('between')),
    ...short(rows('short')),
    ...memory(rows('memory')),
  ]
}

/** @param {Target} target @returns {'met' | 'missed' | 'not measured'} */
export function verdictOf({ value, least, most }) {
  if (value === null) return 'not measured'
  return (least === undefined || value >= least) && (most === undefined || value <= most) ? 'met' : 'missed'
}

function speedups(rows, contender) {
  return SPEEDUPS.map(([n, least, aim]) => ({
    what: `speed-up at ${n}${contender === 'h2o' ? '' : `, ${contender}`}`,
    value: find(rows, contender, n)?.speedup?.median ?? null,
    least,
    aim,
  }))
}

function find(rows, contender, n) {
  return rows.find((row) => row.contender === contender && row.n_prompt === n)
}

function speed(rows, n) {
  return find(rows, 'h2o', n)?.tokens_per_second ?? null
}

function ratio(a, b) {
  return a === null || b === null ? null : a / b
}

/** Tokens per CPU second of b against a: the clock of a shared machine is no witness between two runs. */
function cpuNote(a, b) {
  const rate = (row) => row.n_prompt / row.cpu_ms.median
  return a && b ? `by CPU time ${(rate(b) / rate(a)).toFixed(2)}` : ''
}

function highest(values) {
  return values.length > 0 ? Math.max(...values) : null
}

function attention(lengths) {
  const shares = lengths
    .filter((row) => row.contender === 'h2o' && row.profile)
    .map((row) => row.profile.shares)
  const all = ({ intra, inter, selection, attention }) => intra + inter + selection + attention
  return [
    { what: 'attention of TTFT, at most', value: highest(shares.map(all)), most: 0.4, aim: 0.3 },
    {
      what: 'selection of the attention time, at most',
      value: highest(shares.map((share) => share.selection / all(share))),
      most: 0.15,
      note: 'without the column sums, which are made inside the attention kernel',
    },
  ]
}

/** Time per token against that of the longest shorter prompt of whole chunks, in the same run. */
function between(rows) {
  const own = rows.filter(({ contender }) => contender === 'h2o')
  const isWhole = (row) => row.n_prompt % S === 0
  return own
    .filter((row) => !isWhole(row))
    .map((row) => {
      const whole = own.filter((other) => isWhole(other) && other.n_prompt < row.n_prompt).at(-1)
      return {
        what: `time per token at ${row.n_prompt} against ${whole.n_prompt}`,
        value: whole.tokens_per_second / row.tokens_per_second,
        most: 1.15,
        note: cpuNote(row, whole),
      }
    })
}

function short(rows) {
  return rows
    .filter((row) => row.contender === 'h2o')
    .map((row) => ({
      what: `time at ${row.n_prompt}, one chunk, against stock`,
      value: row.speedup ? 1 / row.speedup.median : null,
      most: 1.05,
      note: row.speedup ? `${(1 / row.speedup.max).toFixed(2)} .. ${(1 / row.speedup.min).toFixed(2)}` : '',
    }))
}

function memory(rows) {
  const own = find(rows, 'h2o-native', 16384)
  const stock = rows.filter((row) => row.contender.startsWith('stock-'))
  const fastest = stock.sort((a, b) => a.ttft_ms.median - b.ttft_ms.median)[0]
  return [
    {
      what: "peak memory of a native process at 16384, 28 layers, against stock's",
      value: ratio(own?.peak_rss_bytes ?? null, fastest?.peak_rss_bytes ?? null),
      most: 1.15,
      note: fastest ? `of ${fastest.contender} -ub ${fastest.n_ubatch}` : '',
    },
    buffers(find(rows, 'h2o', 16384), ''),
    ...rows
      .filter((row) => row.contender === 'h2o-query' && row.n_prompt === 16384)
      .map((row) => buffers(row, ', h2o-query')),
  ]
}

function buffers(row, suffix) {
  return {
    what: `H2O buffers against the KV cache${suffix}`,
    value: ratio(row?.h2o_bytes ?? null, row?.kv_bytes ?? null),
    most: 0.05,
  }
}
