// Lines over an axis as an SVG that reads on light and dark pages.

const WIDTH = 720
const HEIGHT = 400
const MARGIN = { top: 44, bottom: 48, left: 64 }
/** For the names of the lines, at their ends. */
const LABELS = 130

const STYLE = `<style>
text { font: 12px system-ui, sans-serif; fill: #24292f } .title { font-size: 14px; font-weight: 600 }
.note, .tick { fill: #57606a; font-size: 11px } .grid { stroke: #8c959f; stroke-opacity: 0.25 }
.gain { font-weight: 600; paint-order: stroke; stroke: #fff; stroke-width: 4px }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .gain { stroke: #0d1117 } .note, .tick { fill: #9198a1 } }
</style>`

/**
 * `low` and `high` are drawn as a bar through the point, `note` above it, or beside a dotted line that leads to `against`.
 * `log` axes show doublings as equal steps. `labels` is the width of the longest name. `numbered` is for lines of one point each, which their names would
 * not find room beside: points have numbers, and the names a list.
 *
 * @typedef {{ x: number, y: number, low?: number, high?: number, note?: string, against?: number }} Point
 * @typedef {{ label: string, color: string, points: Point[], dashed?: boolean }} Line
 * @typedef {{
 *   title: string, subtitle: string, lines: Line[], labels?: number, numbered?: boolean,
 *   x: { label: string, log?: boolean }, y: { label: string, log?: boolean, from?: number, to?: number, format?: (value: number) => string }
 * }} Chart
 */

/** @param {Chart} chart */
export function svg(chart) {
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${xml(chart.title)}">`,
    STYLE,
    ...drawChart(chart),
    '</svg>',
  ].join('\n')}\n`
}

/**
 * Several charts in one picture, two beside each other.
 *
 * @param {string} title @param {Chart[]} charts
 */
export function panels(title, charts) {
  const height = Math.ceil(charts.length / 2) * HEIGHT
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * WIDTH} ${height}" role="img" aria-label="${xml(title)}">`,
    STYLE,
    ...charts.flatMap((chart, i) => [
      `<g transform="translate(${(i % 2) * WIDTH} ${Math.floor(i / 2) * HEIGHT})">`,
      ...drawChart(chart),
      '</g>',
    ]),
    '</svg>',
  ].join('\n')}\n`
}

function drawChart(chart) {
  const lines = chart.lines.filter(({ points }) => points.length > 0)
  const ticks = [...new Set(lines.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b)
  const y = verticalRange(lines, chart.y)
  const scale = scales(ticks, chart, y)
  return [
    `<text class="title" x="${MARGIN.left}" y="20">${xml(chart.title)}</text>`,
    `<text class="note" x="${MARGIN.left}" y="36">${xml(chart.subtitle)}</text>`,
    ...horizontalAxis(ticks, chart.x.label, y.from, scale),
    ...verticalAxis(y, chart.y, scale),
    ...lines.flatMap((line) => drawLine(line, scale)),
    ...(chart.numbered ? numbers(lines, scale) : endLabels(lines, scale)),
  ]
}

/**
 * From 0 unless it is given, to a value that makes four round steps; on a `log` axis from 1, 2 or 5 times a power of ten
 * to such a one.
 */
function verticalRange(lines, { from = 0, to, log }) {
  const values = lines.flatMap(({ points }) => points.map(({ y, high }) => Math.max(y, high ?? y)))
  if (log) {
    const steps = values.length > 0 ? oneTwoFive(Math.min(...values), Math.max(...values)) : [1, 2]
    return { from: steps[0], to: steps.at(-1), ticks: steps }
  }
  const top = to ?? from + niceTop(Math.max(...values.map((value) => value - from), 1e-9))
  const ticks = [0, 1, 2, 3, 4].map((i) => Number((from + ((top - from) * i) / 4).toPrecision(12)))
  return { from, to: top, ticks }
}

/** All of them from the last that is not above `low` to the first that is not below `high`. */
function oneTwoFive(low, high) {
  const all = []
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high * 10; power *= 10)
    for (const step of [1, 2, 5]) all.push(Number((step * power).toPrecision(12)))
  const first = all.findLastIndex((value) => value <= low)
  return all.slice(first, all.findIndex((value) => value >= high && value > low) + 1)
}

function scales(ticks, { x: { log }, y: { log: logY }, labels = LABELS }, { from, to }) {
  const right = WIDTH - labels
  const [along, up] = [log, logY].map((isLog) => (isLog ? Math.log2 : (value) => value))
  const [first, last] = [along(ticks[0] ?? 1), along(ticks.at(-1) ?? 2)]
  const [width, height] = [right - MARGIN.left, HEIGHT - MARGIN.top - MARGIN.bottom]
  return {
    right,
    x: (n) => round(MARGIN.left + (last > first ? (along(n) - first) / (last - first) : 0.5) * width),
    y: (value) => round(MARGIN.top + (1 - (up(value) - up(from)) / (up(to) - up(from))) * height),
  }
}

function horizontalAxis(ticks, label, bottom, { x, y, right }) {
  let last = Number.NEGATIVE_INFINITY
  const shown = ticks.filter((n) => {
    if (x(n) - last < 34) return false
    last = x(n)
    return true
  })
  const middle = (MARGIN.left + right) / 2
  return [
    ...shown.map(
      (n) => `<text class="tick" x="${x(n)}" y="${y(bottom) + 18}" text-anchor="middle">${n}</text>`,
    ),
    `<text class="note" x="${middle}" y="${HEIGHT - 10}" text-anchor="middle">${xml(label)}</text>`,
  ]
}

function verticalAxis({ from, to, ticks }, { label, format = String }, { y, right }) {
  return [
    ...ticks.map((t) => `<line class="grid" x1="${MARGIN.left}" x2="${right}" y1="${y(t)}" y2="${y(t)}"/>`),
    ...ticks.map(
      (t) =>
        `<text class="tick" x="${MARGIN.left - 8}" y="${y(t) + 4}" text-anchor="end">${format(t)}</text>`,
    ),
    `<text class="note" transform="translate(16 ${(y(from) + y(to)) / 2}) rotate(-90)" text-anchor="middle">${xml(label)}</text>`,
  ]
}

function drawLine({ color, points, dashed }, scale) {
  const { x, y } = scale
  const path = points.map((p, i) => `${i === 0 ? 'M' : 'L'}${x(p.x)} ${y(p.y)}`).join(' ')
  const dashes = dashed ? ' stroke-dasharray="6 4"' : ''
  return [
    `<path d="${path}" fill="none" stroke="${color}" stroke-width="2"${dashes}/>`,
    ...points
      .filter(({ low, high }) => low !== undefined && high !== undefined)
      .map(
        (p) =>
          `<line x1="${x(p.x)}" x2="${x(p.x)}" y1="${y(p.low)}" y2="${y(p.high)}" stroke="${color}" stroke-opacity="0.5"/>`,
      ),
    ...points.map((p) => `<circle cx="${x(p.x)}" cy="${y(p.y)}" r="3.5" fill="${color}"/>`),
    ...points.filter(({ note }) => note !== undefined).flatMap((p) => drawNote(p, color, scale)),
  ]
}

function drawNote({ x: px, y: py, note, against }, color, { x, y, right }) {
  const text = (at, place, anchor) =>
    `<text class="gain" x="${at}" y="${place}" text-anchor="${anchor}" style="fill:${color}">${xml(note)}</text>`
  if (against === undefined) return [text(x(px), y(py) - 10, 'middle')]
  const [from, to] = [y(py), y(against)]
  return [
    `<line x1="${x(px)}" x2="${x(px)}" y1="${from}" y2="${to}" stroke="${color}" stroke-dasharray="1 4"/>`,
    x(px) > right - 40
      ? text(x(px) - 7, round((from + to) / 2 + 4), 'end')
      : text(x(px) + 7, round((from + to) / 2 + 4), 'start'),
  ]
}

/**
 * Beside the last points, pushed apart where they would overlap, and up again where they would leave the chart. Where
 * the others go on, a name stands before its last point.
 */
function endLabels(lines, { x, y }) {
  const all = lines
    .map(({ label, color, points }) => ({ label, color, at: x(points.at(-1).x), y: y(points.at(-1).y) }))
    .sort((a, b) => a.y - b.y)
  const last = Math.max(...all.map(({ at }) => at))
  const [ends, early] = [all.filter(({ at }) => at > last - 40), all.filter(({ at }) => at <= last - 40)]
  const apart = 15
  let free = Number.NEGATIVE_INFINITY
  for (const end of ends) {
    end.y = Math.max(end.y, free)
    free = end.y + apart
  }
  free = HEIGHT - MARGIN.bottom
  for (const end of ends.toReversed()) {
    end.y = Math.min(end.y, free)
    free = end.y - apart
  }
  const text = ({ label, color }, at, place, anchor = 'start') =>
    `<text x="${at}" y="${place}" text-anchor="${anchor}" style="fill:${color}">${xml(label)}</text>`
  return [
    ...ends.map((end) => text(end, end.at + 10, end.y + 4)),
    ...early.map((end) => text(end, end.at - 10, end.y - 8, 'end')),
  ]
}

/** Where a number may stand beside its point, best first. */
const PLACES = [
  [0, -9],
  [0, 18],
  [11, 4],
  [-11, 4],
  [11, -9],
  [-11, -9],
  [11, 18],
  [-11, 18],
]

/** From left to right. A number keeps clear of all points and of the numbers before it, where there is room. */
function numbers(lines, { x, y, right }) {
  const order = lines.map((line) => ({ ...line, x: x(line.points[0].x), y: y(line.points[0].y) }))
  order.sort((a, b) => a.x - b.x)
  const taken = order.map((point) => ({ x: point.x, y: point.y }))
  return order.flatMap(({ label, color, x: px, y: py }, i) => {
    const spots = PLACES.map(([dx, dy]) => ({ x: px + dx, y: py + dy - 4 }))
    const isFree = (spot) =>
      spot.y > MARGIN.top &&
      taken.every((one) => Math.abs(one.x - spot.x) > 10 || Math.abs(one.y - spot.y) > 7)
    const spot = spots.find(isFree) ?? spots[0]
    taken.push(spot)
    const style = `style="fill:${color}"`
    return [
      `<text class="gain" x="${round(spot.x)}" y="${round(spot.y + 4)}" text-anchor="middle" ${style}>${i + 1}</text>`,
      `<text x="${right + 34}" y="${MARGIN.top + 8 + 17 * i}" text-anchor="end" ${style}>${i + 1}</text>`,
      `<text x="${right + 42}" y="${MARGIN.top + 8 + 17 * i}" ${style}>${xml(label)}</text>`,
    ]
  })
}

/** The next 1, 1.5, 2 ... times a power of ten, times four for round ticks. */
function niceTop(value) {
  const quarter = value / 4
  const power = 10 ** Math.floor(Math.log10(quarter))
  return 4 * power * [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * power >= quarter)
}

function round(value) {
  return Math.round(value * 10) / 10
}

function xml(text) {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
}
