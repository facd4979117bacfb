// Settings by what they cost in time and in quality: one row and one point each.

import { cellOf, perplexityOf, unique } from './look-up.mjs'
import { table } from './markdown.mjs'

const COLORS = { votes: '#d55e00', query: '#0072b2' }

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

/** @param {object} result what run.mjs writes, of a set with `times`  @returns {import('../chart.mjs').Chart[]} */
export function frontCharts({ settings, tasks, perplexity, times }) {
  const x = { label: 'milliseconds of a prefill' }
  const over = (title, subtitle, y, point) => ({
    title,
    subtitle,
    lines: settings.map(({ key, label, select }) => ({
      label,
      color: COLORS[select],
      points: [{ x: Math.round(timeOf(times, key).median), ...point(key) }],
    })),
    x,
    y,
    numbered: true,
  })
  const { length } = perplexity[0]
  const ratio = { label: 'ratio', from: 1, format: (value) => value.toFixed(3) }
  const answers = {
    label: 'right answers',
    from: 0,
    to: 1,
    format: (value) => `${Math.round(100 * value)} %`,
  }
  return [
    ...['prompt', 'continuation'].map((part) =>
      over(`Perplexity over dense perplexity, ${part}`, `${length} tokens`, ratio, (key) => {
        const { ratio: y, ratio_uncertainty: u } = perplexityOf(perplexity, key, length)[part]
        // a ratio below 1 stands on the axis
        return { y: Math.max(1, y), low: Math.max(1, y - u), high: Math.max(1, y + u) }
      }),
    ),
    ...columns(tasks)
      .filter(({ ask }) => ask !== 'behind')
      .map(({ task, ask, length }) =>
        over(`${task} over time`, `${length} tokens; bars are 95 % intervals`, answers, (key) => {
          const { right, n, low, high } = cellOf(tasks, key, task, length, ask)
          return { y: right / n, low, high }
        }),
      ),
  ]
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
