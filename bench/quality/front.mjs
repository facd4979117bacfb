// Settings by what they cost in time and in quality: one row and one point each.

import { COLORS, SHARE } from '../chart.mjs'
import { cellOf, perplexityOf, unique } from './look-up.mjs'
import { table } from './markdown.mjs'

const COLORS_OF = { votes: COLORS[0], query: COLORS[5] }

/** @param {object} result what run.mjs writes, of a set with `times` */
export function frontTable({ settings, tasks, perplexity, times }) {
  if (!times) return []
  const dense = timeOf(times, 'dense')
  const asked = columns(tasks)
  const rows = settings.map(({ key, label }) => [
    label,
    ...timeCells(timeOf(times, key), dense),
    ...predictionCells(perplexityOf(perplexity, key, perplexity[0].length)),
    ...asked.map(({ task, ask, length }) => share(cellOf(tasks, key, task, length, ask))),
  ])
  const denseRow = [
    'dense',
    ...timeCells(dense, dense),
    ...Array(4).fill(''),
    ...asked.map(({ task, ask, length }) => share(cellOf(tasks, 'dense', task, length, ask))),
  ]
  const head = ['', 'prefill, ms', 'times dense', 'prompt: ratio', 'KL', 'continuation: ratio', 'KL']
  const names = asked.map(({ task, ask }) => (ask === 'behind' ? `${task}, behind` : task))
  const note =
    `A prefill of ${perplexity[0].length} tokens: the median of those in turns, with the least and the most. ` +
    'Right answers of all; a question ends the prompt, stands inside of it, or is decoded densely behind it.'
  return [`## Time and quality\n\n${note}\n\n${table([...head, ...names], [denseRow, ...rows])}`]
}

/**
 * One row per setting, the fastest first.
 *
 * @param {object} result what run.mjs writes, of a set with `times`  @returns {import('../chart.mjs').RowChart[]}
 */
export function frontCharts({ settings, tasks, perplexity, times }) {
  const timed = settings.map((one) => ({ ...one, ms: timeOf(times, one.key).median }))
  timed.sort((a, b) => a.ms - b.ms)
  const chart = (title, note, x, point) => ({
    title,
    subtitle: `${perplexity[0].length} tokens, beside the milliseconds of a prefill; bars are ${note}`,
    rows: timed.map(({ key, label, select, ms }) => ({
      label: `${label}, ${Math.round(ms)} ms`,
      color: COLORS_OF[select],
      ...point(key),
    })),
    x,
  })
  return [
    ...['prompt', 'continuation'].map((part) => {
      const rows = settings.map(({ key }) => perplexityOf(perplexity, key, perplexity[0].length)[part])
      return chart(`Perplexity over dense perplexity, ${part}`, 'standard errors', ratioAxis(rows), (key) => {
        const { ratio: x, ratio_uncertainty: u } = perplexityOf(perplexity, key, perplexity[0].length)[part]
        return { x, low: x - u, high: x + u }
      })
    }),
    ...columns(tasks)
      .filter(({ ask }) => ask !== 'behind')
      .map(({ task, ask, length }) =>
        chart(`${task}, right answers`, '95 % intervals', { ...SHARE, label: 'right answers' }, (key) => {
          const { right, n, low, high } = cellOf(tasks, key, task, length, ask)
          return { x: right / n, low, high }
        }),
      ),
  ]
}

/** From 1, or below where a ratio is. */
export function ratioAxis(figures) {
  const least = Math.min(1, ...figures.map((one) => one.ratio - one.ratio_uncertainty))
  return {
    label: 'ratio',
    from: Math.floor(least * 100) / 100,
    format: (value) => value.toFixed(3),
  }
}

/** Every way in which the sparse settings were asked. */
function columns(tasks) {
  const sparse = tasks.filter(({ setting }) => setting !== 'dense')
  const keys = sparse.map(({ task, length, ask }) => JSON.stringify({ task, length, ask }))
  return unique(keys).map((key) => JSON.parse(key))
}

function timeOf(times, key) {
  return times.find((time) => time.key === key)
}

function timeCells({ median, min, max }, dense) {
  const ms = (value) => value.toFixed(0)
  return [`${ms(median)} (${ms(min)}–${ms(max)})`, (dense.median / median).toFixed(2)]
}

function predictionCells({ prompt, continuation }) {
  return [prompt, continuation].flatMap(({ ratio, kld }) => [ratio.toFixed(4), kld.toFixed(4)])
}

function share({ right, n }) {
  return `${right}/${n}`
}
