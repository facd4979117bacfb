// Time to the first token over prompt length: one line per contender, stock at its best.

import { svg } from './chart.mjs'

// colours that keep apart for the colour-blind, on white and on near-black
const LINES = [
  { contender: 'h2o', label: 'H2O, votes', color: '#d55e00' },
  { contender: 'h2o-query', label: 'H2O, query', color: '#009e73' },
  { contender: 'h2o-two-pass', label: 'two passes', color: '#cc79a7' },
  { contender: 'dense', label: 'dense, our build', color: '#56b4e9' },
  { contender: 'stock', label: 'stock llama.cpp', color: '#0072b2' },
]

/**
 * @typedef {{
 *   n_prompt: number, contender: string, ttft_ms: { median: number }, speedup: { median: number } | null
 * }} Row
 * @param {Row[]} rows
 * @param {{ title: string, subtitle: string }} text
 */
export function plot(rows, { title, subtitle }) {
  // one line has its gains written at it: the default policy's, where it was measured
  const labelled = rows.some(({ contender }) => contender === 'h2o-query') ? 'h2o-query' : 'h2o'
  const stock = pointsOf(rows, 'stock')
  const lines = LINES.map((line) => ({ ...line, points: pointsOf(rows, line.contender) }))
  const longest = Math.max(...lines.flatMap(({ points }) => points.map(({ x }) => x)))
  const chart = {
    title,
    subtitle,
    lines: lines.map(({ contender, label, color, points }) => {
      const end = points.find(({ x }) => x === longest)
      return {
        label: end ? `${label}, ${seconds(end.y)}` : label,
        color,
        points: contender === labelled ? withGains(points, stock) : points.map(({ x, y }) => ({ x, y })),
      }
    }),
    x: { label: 'tokens in the prompt', log: true },
    y: { label: 'seconds to the first token', log: true },
  }
  return svg(title, [chart])
}

const seconds = (value) => `${value < 100 ? Number(value.toPrecision(2)) : Math.round(value)} s`

/** The fastest of the settings of a contender at each length. */
function pointsOf(rows, contender) {
  const best = new Map()
  for (const row of rows) {
    if (row.contender !== contender && !(contender === 'stock' && row.contender.startsWith('stock-')))
      continue
    const known = best.get(row.n_prompt)
    const y = row.ttft_ms.median / 1000
    if (known && known.y <= y) continue
    best.set(row.n_prompt, { x: row.n_prompt, y, gain: row.speedup?.median })
  }
  return [...best.values()].sort((a, b) => a.x - b.x)
}

/** The gain stands between a point and stock's. */
function withGains(points, stock) {
  return points.map(({ x, y, gain }) => {
    const against = stock.find((point) => point.x === x)?.y
    const isThere = gain !== undefined && against !== undefined
    return { x, y, ...(isThere && { against, note: `${gain.toFixed(gain < 10 ? 1 : 0)}×` }) }
  })
}
