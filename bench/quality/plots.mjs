// The charts of a report: what its tables say, drawn.

import { COLORS, SHARE } from '../chart.mjs'
import { frontCharts, ratioAxis } from './front.mjs'
import { ascending, cellOf, perplexityOf, unique } from './look-up.mjs'
import { ablations, keyOf } from './settings.mjs'

const DENSE = COLORS[5]

/** @param {object} result what run.mjs writes */
export function charts(result) {
  // a line for each of many settings would say nothing
  const drawn = result.times
    ? frontCharts(result)
    : [
        ...accuracies(result),
        ...predictions(result),
        ...ablationCharts(result),
        turnover(result),
        byContext(result),
      ]
  return drawn.filter((chart) => chart?.rows || chart?.lines.some(({ points }) => points.length > 0))
}

function share(x, cell) {
  return cell ? [{ x, y: cell.right / cell.n, low: cell.low, high: cell.high }] : []
}

function accuracies({ tasks, settings }) {
  const longest = Math.max(...tasks.map(({ length }) => length))
  return [
    depths(tasks, settings, 'passkey', longest),
    depths(tasks, settings, 'needle', longest),
    ...unique(tasks.map(({ task }) => task))
      .filter((task) => ['records-near', 'variables-2'].includes(task))
      .map((task) => lengths(tasks, settings, task)),
  ]
}

/** Dense, then every setting with the question in the prompt; the first also with the question behind it, dashed. */
function contenders(settings) {
  return [
    { label: 'dense', color: DENSE, key: 'dense', ask: 'behind' },
    ...settings.map(({ key, label }, i) => ({ label, color: COLORS[i % COLORS.length], key, ask: 'prompt' })),
    ...settings.slice(0, 1).map(({ key, label }) => ({
      label: `${label}, behind`,
      color: COLORS[0],
      key,
      ask: 'behind',
      dashed: true,
    })),
  ]
}

function depths(tasks, settings, task, length) {
  return {
    title: `${task} over depth`,
    subtitle: `${length} tokens; bars are 95 % intervals`,
    lines: contenders(settings).map(({ key, ask, ...line }) => ({
      ...line,
      points: (cellOf(tasks, key, task, length, ask)?.parts ?? []).flatMap((part) => share(part.where, part)),
    })),
    x: { label: 'depth of the statement' },
    y: { ...SHARE, label: 'right answers' },
  }
}

function lengths(tasks, settings, task) {
  const there = ascending(tasks.filter((cell) => cell.task === task).map(({ length }) => length))
  return {
    title: `${task} over length`,
    subtitle: 'bars are 95 % intervals',
    lines: contenders(settings).map(({ key, ask, ...line }) => ({
      ...line,
      points: there.flatMap((length) => share(length, cellOf(tasks, key, task, length, ask))),
    })),
    x: { label: 'tokens in the prompt', log: true },
    y: { ...SHARE, label: 'right answers' },
  }
}

function predictions({ perplexity, settings }) {
  if (!perplexity) return []
  const there = ascending(perplexity.map(({ length }) => length))
  return ['prompt', 'continuation'].map((part) => ({
    title: `Perplexity over dense perplexity, ${part}`,
    subtitle: 'over the length of the window',
    lines: settings.map(({ key, label }, i) => ({
      label,
      color: COLORS[i % COLORS.length],
      points: there.flatMap((length) => ratio(length, perplexityOf(perplexity, key, length), part)),
    })),
    x: { label: 'tokens in the window', log: true },
    y: ratioAxis(perplexity.map((row) => row[part])),
  }))
}

function ratio(x, row, part) {
  if (!row) return []
  const { ratio: y, ratio_uncertainty: u } = row[part]
  return [{ x, y, low: y - u, high: y + u }]
}

const OVER = { heavy: 'H (L=256)', local: 'L', S: 'chunk S' }

function ablationCharts({ ablation, perplexity }) {
  if (!ablation || ablation.length === 0 || !perplexity) return []
  const longest = Math.max(...perplexity.map(({ length }) => length))
  return Object.entries(OVER).flatMap(([over, label]) => {
    const lines = ablations.filter((line) => line.over === over)
    const x = { label, log: over !== 'heavy' }
    const rows = lines.flatMap(({ points }) =>
      points.flatMap(({ setting }) => perplexityOf(perplexity, keyOf(setting), longest) ?? []),
    )
    const parts = ['prompt', 'continuation']
    return [
      {
        title: `Perplexity ratio over ${label}`,
        subtitle: `${longest} tokens`,
        lines: lines.flatMap(({ name, points }, i) =>
          parts.map((part, j) => ({
            label: `${name}, ${part === 'prompt' ? 'prompt' : 'cont.'}`,
            color: COLORS[(2 * i + j) % COLORS.length],
            dashed: part === 'continuation',
            points: points.flatMap((p) =>
              ratio(p.x, perplexityOf(perplexity, keyOf(p.setting), longest), part),
            ),
          })),
        ),
        x,
        y: ratioAxis(rows.flatMap((row) => parts.map((part) => row[part]))),
      },
      answersOver(ablation, lines, label, x),
    ]
  })
}

function answersOver(ablation, lines, label, x) {
  const { length } = ablation[0]
  const tasks = unique(ablation.map(({ task }) => task))
  return {
    title: `Right answers over ${label}`,
    subtitle: `${length} tokens, question in the prompt; dense: ${tasks.map((task) => denseShare(ablation, task)).join(', ')}`,
    lines: lines.flatMap(({ name, points }, i) =>
      tasks.map((task, j) => ({
        label: `${task}, ${name}`,
        color: COLORS[(2 * i + j) % COLORS.length],
        points: points.flatMap((p) => share(p.x, cellOf(ablation, keyOf(p.setting), task, length, 'prompt'))),
      })),
    ),
    x,
    y: { ...SHARE, label: 'right answers' },
  }
}

function denseShare(ablation, task) {
  const { right, n } = ablation.find((cell) => cell.setting === 'dense' && cell.task === task)
  return `${task} ${Math.round((100 * right) / n)} %`
}

function turnover({ memory }) {
  if (!memory) return null
  const layers = ascending(memory.turnovers.map(({ layer }) => layer))
  return {
    title: 'Heavy hitters that are new in a chunk',
    subtitle: 'share of the heavy positions, mean over the KV heads',
    lines: layers.map((layer, i) => ({
      label: `layer ${layer}`,
      color: COLORS[i % COLORS.length],
      points: memory.turnovers
        .filter((row) => row.layer === layer)
        .map(({ chunk, turnover: y }) => ({ x: chunk, y })),
    })),
    x: { label: 'chunk' },
    y: { ...SHARE, label: 'new' },
  }
}

function byContext({ byContext: found }) {
  if (!found) return null
  const { alone, mixed } = found
  return {
    title: 'Perplexity over context',
    subtitle: 'dense, the same tokens with more before them',
    lines: [
      { label: 'one text', color: DENSE, points: perplexityPoints(alone) },
      { label: 'texts in a row', color: COLORS[0], points: perplexityPoints(mixed) },
    ],
    x: { label: 'tokens in the context', log: true },
    y: { label: 'perplexity' },
  }
}

function perplexityPoints(rows) {
  return rows.map(({ length, ppl, uncertainty: u }) => ({ x: length, y: ppl, low: ppl - u, high: ppl + u }))
}
