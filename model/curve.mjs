/**
 * Draws a training run: how often the answers of each family were right, over the tokens trained on.
 *
 *   node model/curve.mjs [model/recall-log.jsonl] > model/recall.svg
 */

import { readFileSync } from 'node:fs'
import { svg } from '../bench/chart.mjs'

const [path = new URL('recall-log.jsonl', import.meta.url)] = process.argv.slice(2)
const [about, ...rows] = readFileSync(path, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line))

const SHOWN = {
  records: '#0969da',
  copy: '#1a7f37',
  'variables-2': '#cf222e',
  'variables-3': '#bc4c00',
  passkey: '#8250df',
  story: '#57606a',
}
/** A row covers 50 steps; a point as many rows. */
const ROWS = 3

const lines = Object.entries(SHOWN).map(([label, color]) => ({ label, color, points: points(label) }))
const { parameters, preset, minutes } = about
process.stdout.write(
  svg({
    title: 'Answers right while training, per token',
    subtitle: `preset ${preset}, ${(parameters / 1e6).toFixed(2)} M parameters, ${minutes} minutes; documents grow from 128 to 8192 tokens`,
    lines,
    x: { label: 'million tokens' },
    y: { label: 'right', from: 0, to: 1, format: (value) => `${Math.round(100 * value)} %` },
  }),
)

function points(family) {
  const of = rows.filter(({ accuracy }) => accuracy[family] !== undefined)
  const made = []
  for (let i = 0; i + ROWS <= of.length; i += ROWS) {
    const some = of.slice(i, i + ROWS)
    const x = Number((some.at(-1).tokens / 1e6).toFixed(1))
    const y = some.reduce((sum, { accuracy }) => sum + accuracy[family], 0) / ROWS
    made.push({ x, y })
  }
  return made
}
