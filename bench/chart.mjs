// Charts of results as SVG pictures that read on light and dark pages, 720 pixels wide, one below the other.

import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'

const { document } = parseHTML('<html></html>')
const WIDTH = 720
const STYLE = `svg { --plot-background: #fff; color: #24292f }
@media (prefers-color-scheme: dark) { svg { --plot-background: #0d1117; color: #e6edf3 } }`

// colours that keep apart for the colour-blind, on white and on near-black
export const COLORS = ['#d55e00', '#56b4e9', '#cc79a7', '#009e73', '#e69f00', '#0072b2']

export const SHARE = { from: 0, to: 1, format: (value) => `${Math.round(100 * value)} %` }

/**
 * `low` and `high` are the ends of a bar through the point. A dotted line leads to `against`, with `note` beside it.
 * A horizontal axis has its ticks at the points where these are few; a vertical `log` axis at 1, 2 and 5 times powers of ten.
 *
 * @typedef {{ label: string, log?: boolean, from?: number, to?: number, format?: (value: number) => string }} Axis
 * @typedef {{ x: number, y: number, low?: number, high?: number, note?: string, against?: number }} Point
 * @typedef {{ label: string, color: string, points: Point[], dashed?: boolean }} Line
 * @typedef {{ title: string, subtitle: string, lines: Line[], x: Axis, y: Axis }} LineChart
 *
 * A chart of rows has one point in each, beside its name.
 * @typedef {{ label: string, color: string, x: number, low: number, high: number }} Row
 * @typedef {{ title: string, subtitle: string, rows: Row[], x: Axis }} RowChart
 */

/** @param {string} title of the whole  @param {(LineChart | RowChart)[]} charts */
export function svg(title, charts) {
  const picture = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  const style = document.createElement('style')
  style.textContent = STYLE
  picture.append(style)
  let height = 0
  for (const chart of charts) {
    const drawn = chart.rows ? drawRows(chart) : drawLines(chart)
    // it is for a page, and undoes the height of a picture in a picture
    drawn.querySelector('style').remove()
    drawn.setAttribute('role', 'img')
    drawn.setAttribute('aria-label', chart.title)
    drawn.setAttribute('y', String(height))
    height += Number(drawn.getAttribute('height'))
    picture.append(drawn)
  }
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: 'img',
    'aria-label': title,
  }
  for (const [name, value] of Object.entries(attributes)) picture.setAttribute(name, value)
  return `${picture.outerHTML}\n`
}

function drawLines({ lines: given, x, y, ...titles }) {
  const lines = given.filter(({ points }) => points.length > 0)
  const points = lines.flatMap((line) => line.points.map((point) => ({ ...point, color: line.color })))
  const ends = lines.flatMap(({ label, color, points: of }) =>
    of.slice(-1).map((end) => ({ ...end, label, color })),
  )
  const noted = points.filter(({ note }) => note !== undefined)
  const places = [...new Set(points.map((point) => point.x))]
  const [first, last] = [Math.min(...places), Math.max(...places)]
  // a name stands at the right edge where its line ends near there
  const isEarly = (end) => last - end.x > 0.1 * (last - first)
  const { ticks, ...vertical } = verticalScale(points, y)
  const text = { x: 'x', y: 'y', fill: 'color', ...HALO }
  const name = (some, options) => Plot.text(some, { ...text, text: 'label', ...options })
  const note = (some, options) =>
    Plot.text(some, { ...text, y: 'against', text: 'note', fontWeight: 600, ...options })
  return plot(titles, {
    ...{ height: 400, marginLeft: 64, marginRight: 185 },
    x: { type: x.log ? 'log' : 'linear' },
    y: vertical,
    marks: [
      Plot.gridY(ticks, { ticks: 5 }),
      axis(Plot.axisX, x, places.length <= 8 && places),
      axis(Plot.axisY, { ...y, offset: 54 }, ticks),
      lines.map(({ points: of, color: stroke, dashed }) =>
        Plot.line(of, { x: 'x', y: 'y', stroke, strokeWidth: 2, strokeDasharray: dashed ? '6 4' : null }),
      ),
      Plot.ruleX(
        points.filter(({ low }) => low !== undefined),
        { x: 'x', y1: 'low', y2: 'high', stroke: 'color', strokeOpacity: 0.5 },
      ),
      Plot.ruleX(noted, { x: 'x', y1: 'y', y2: 'against', stroke: 'color', strokeDasharray: '1 4' }),
      Plot.dot(points, { x: 'x', y: 'y', r: 3.5, fill: 'color' }),
      // close to the end of the dotted line: other lines are seldom there
      note(
        noted.filter((point) => point.x < last),
        { textAnchor: 'start', dx: 7, dy: 8 },
      ),
      note(
        noted.filter((point) => point.x === last),
        { textAnchor: 'end', dx: -7, dy: 28 },
      ),
      name(
        ends.filter((end) => !isEarly(end)),
        { x: () => last, textAnchor: 'start', dx: 10, ...apart('y') },
      ),
      name(ends.filter(isEarly), { textAnchor: 'start', dx: 8, dy: -6 }),
    ],
  })
}

function drawRows({ rows, x, ...titles }) {
  const y = (row) => row.label
  return plot(titles, {
    ...{ height: 100 + 26 * rows.length, marginLeft: 250, marginRight: 24 },
    x: linearScale(
      rows.map(({ high }) => high),
      x,
    ),
    y: { type: 'point', domain: rows.map(y), padding: 0.7 },
    marks: [
      Plot.gridX({ ticks: 5 }),
      axis(Plot.axisX, x),
      Plot.axisY({ tickSize: 0, label: null }),
      Plot.ruleY(rows, { y, x1: 'low', x2: 'high', stroke: 'color', strokeOpacity: 0.5, strokeWidth: 2 }),
      Plot.dot(rows, { y, x: 'x', r: 4, fill: 'color' }),
    ],
  })
}

const HALO = { stroke: 'var(--plot-background)', strokeWidth: 4 }

function plot({ title, subtitle }, options) {
  const { marginLeft } = options
  const head = { frameAnchor: 'top-left', textAnchor: 'start' }
  return Plot.plot({
    ...{ document, width: WIDTH, marginTop: 52, marginBottom: 44, style: { fontSize: '12px' } },
    ...options,
    marks: [
      options.marks,
      Plot.text([title], { ...head, dx: 12 - marginLeft, dy: -40, fontSize: 14, fontWeight: 600 }),
      Plot.text([subtitle], { ...head, dx: 12 - marginLeft, dy: -22, fillOpacity: 0.7 }),
    ],
  })
}

function axis(make, { label, format = String, offset }, ticks) {
  const look = { label, labelArrow: 'none', labelAnchor: 'center', tickSize: 0, labelOffset: offset }
  return ticks ? make(ticks, { ...look, text: format }) : make({ ...look, tickFormat: format, ticks: 5 })
}

function verticalScale(points, { log, from = 0, to }) {
  if (log) {
    const steps = roundSteps(points.map(({ y }) => y))
    return { type: 'log', domain: [steps[0], steps.at(-1)], ticks: steps }
  }
  return linearScale(
    points.map(({ y, high = y }) => high),
    { from, to },
  )
}

function linearScale(values, { from = 0, to }) {
  return { domain: [from, to ?? Math.max(from, ...values)], nice: to === undefined }
}

/** From the last 1, 2 or 5 times a power of ten that is not above the values to the first that is not below them. */
function roundSteps(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const powers = [-3, -2, -1, 0, 1, 2, 3, 4, 5]
  const all = powers.flatMap((power) => [1, 2, 5].map((step) => Number(`${step}e${power}`)))
  return all.filter((_, i) => (all[i + 1] ?? high) > low && (all[i - 1] ?? low) < high)
}

/** Names are pushed down where they would overlap, and up again where they would leave the chart. */
function apart(y) {
  return Plot.initializer({ y }, (data, facets, { y: { value } }, scales, { height, marginBottom }) => {
    const places = Array.from(value, scales.y)
    const order = [...places.keys()].sort((a, b) => places[a] - places[b])
    const step = 15
    for (const [k, i] of order.entries())
      if (k > 0) places[i] = Math.max(places[i], places[order[k - 1]] + step)
    let free = height - marginBottom
    for (const i of order.reverse()) {
      places[i] = Math.min(places[i], free)
      free = places[i] - step
    }
    return { data, facets, channels: { y: { value: places } } }
  })
}
