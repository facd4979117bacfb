// Speed over prompt length: one line per contender, stock at its best.

import { svg } from './chart.mjs'

// colours that keep apart for the colour-blind, on white and on near-black
const LINES = [
  { contender: 'h2o', label: 'H2O, votes', color: '#d55e00' },
  { contender: 'h2o-query', label: 'H2O, query', color: '#009e73' },
  { contender: 'h2o-two-pass', label: 'H2O, two passes', color: '#cc79a7' },
  { contender: 'dense', label: 'dense, our build', color: '#56b4e9' },
  { contender: 'stock', label: 'stock llama.cpp', color: '#0072b2' },
]

/**
 * @typedef {{ n_prompt: number, contender: string, tokens_per_second: number, speedup: { median: number } | null }} Row
 * @param {Row[]} rows
 * @param {{ title: string, subtitle: string }} text
 */
export function plot(rows, { title, subtitle }) {
  // one line has its gains written at it: the default policy's, where it was measured
  const labelled = rows.some(({ contender }) => contender === 'h2o-query') ? 'h2o-query' : 'h2o'
  return svg({
    title,
    subtitle,
    lines: LINES.map((line) => ({
      ...line,
      points: pointsOf(rows, line.contender, line.contender === labelled),
    })),
    x: { label: 'tokens in the prompt', log: true },
    y: { label: 'tokens/s up to the first token' },
  })
}

/** The fastest of the settings of a contender at each length. */
function pointsOf(rows, contender, withGains) {
  const best = new Map()
  for (const row of rows) {
    if (row.contender !== contender && !(contender === 'stock' && row.contender.startsWith('stock-')))
      continue
    const known = best.get(row.n_prompt)
    if (known && known.y >= row.tokens_per_second) continue
    const gain = withGains ? row.speedup?.median : undefined
    best.set(row.n_prompt, {
      x: row.n_prompt,
      y: row.tokens_per_second,
      ...(gain !== undefined && { note: `${gain.toFixed(1)}×` }),
    })
  }
  return [...best.values()].sort((a, b) => a.x - b.x)
}
