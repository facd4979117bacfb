/**
 * Draws a training in one or more runs, each from the model of the one before: how often the answers of each family
 * were right, over the tokens trained on.
 *
 *   node model/curve.mjs [model/recall-log.jsonl model/recall-long-log.jsonl] > model/recall.svg
 */

import { readFileSync } from 'node:fs'
import { SHARE, svg } from '../bench/chart.mjs'

const given = process.argv.slice(2)
const logs = given.length > 0 ? given : ['recall-log.jsonl', 'recall-long-log.jsonl'].map(beside)
const runs = logs.map((log) => {
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n')
  const [about, ...rows] = lines.map((line) => JSON.parse(line))
  return { about, rows }
})
const rows = []
for (const run of runs) {
  const before = rows.at(-1)?.tokens ?? 0
  rows.push(...run.rows.map((row) => ({ ...row, tokens: before + row.tokens })))
}

const SHOWN = {
  records: '#0969da',
  copy: '#1a7f37',
  'variables-2': '#cf222e',
  'variables-3': '#bc4c00',
  passkey: '#8250df',
  story: '#57606a',
}
/** A row covers some 0.1 M tokens; a point as many rows. */
const ROWS = 3

const lines = Object.entries(SHOWN).map(([label, color]) => ({ label, color, points: points(label) }))
const { parameters, preset } = runs[0].about
const minutes = runs.map(({ about }) => about.minutes).join(' + ')
process.stdout.write(
  svg('Answers right while training', [
    {
      title: 'Answers right while training, per token',
      subtitle: `preset ${preset}, ${(parameters / 1e6).toFixed(2)} M parameters, ${minutes} minutes; documents grow from 128 to 8192 tokens`,
      lines,
      x: { label: 'million tokens' },
      y: { ...SHARE, label: 'right' },
    },
  ]),
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

function beside(name) {
  return new URL(name, import.meta.url)
}
