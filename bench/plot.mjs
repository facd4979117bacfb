// Speed over prompt length as an SVG that reads on light and dark pages: one line per contender, stock at its best.

const WIDTH = 720
const HEIGHT = 400
const MARGIN = { top: 44, right: 130, bottom: 48, left: 64 }

// colours that keep apart for the colour-blind, on white and on near-black
const LINES = [
  { contender: 'h2o', label: 'H2O', color: '#d55e00' },
  { contender: 'h2o-two-pass', label: 'H2O, two passes', color: '#cc79a7' },
  { contender: 'dense', label: 'dense, our build', color: '#56b4e9' },
  { contender: 'stock', label: 'stock llama.cpp', color: '#0072b2' },
]

/**
 * @param {{ n_prompt: number, contender: string, tokens_per_second: number, speedup: { median: number } | null }[]} rows
 * @param {{ title: string, subtitle: string }} text
 */
export function plot(rows, { title, subtitle }) {
  const lines = LINES.map((line) => ({ ...line, points: pointsOf(rows, line.contender) })).filter(
    ({ points }) => points.length > 0,
  )
  const lengths = [...new Set(lines.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b)
  const top = niceTop(Math.max(...lines.flatMap(({ points }) => points.map(({ y }) => y)), 1))
  const scale = scales(lengths, top)
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${xml(title)}">`,
    STYLE,
    `<text class="title" x="${MARGIN.left}" y="20">${xml(title)}</text>`,
    `<text class="note" x="${MARGIN.left}" y="36">${xml(subtitle)}</text>`,
    ...horizontalAxis(lengths, scale),
    ...verticalAxis(top, scale),
    ...lines.flatMap((line) => drawLine(line, scale)),
    ...endLabels(lines, scale),
    '</svg>',
  ].join('\n')}\n`
}

const STYLE = `<style>
text { font: 12px system-ui, sans-serif; fill: #24292f } .title { font-size: 14px; font-weight: 600 }
.note, .tick { fill: #57606a; font-size: 11px } .grid { stroke: #8c959f; stroke-opacity: 0.25 } .gain { font-weight: 600 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note, .tick { fill: #9198a1 } }
</style>`

/** The fastest of the settings of a contender at each length. */
function pointsOf(rows, contender) {
  const best = new Map()
  for (const row of rows) {
    if (row.contender !== contender && !(contender === 'stock' && row.contender.startsWith('stock-')))
      continue
    const known = best.get(row.n_prompt)
    if (known && known.y >= row.tokens_per_second) continue
    best.set(row.n_prompt, { x: row.n_prompt, y: row.tokens_per_second, gain: row.speedup?.median ?? null })
  }
  return [...best.values()].sort((a, b) => a.x - b.x)
}

function scales(lengths, top) {
  const [first, last] = [Math.log2(lengths[0] ?? 1), Math.log2(lengths.at(-1) ?? 2)]
  const [width, height] = [WIDTH - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.top - MARGIN.bottom]
  return {
    x: (n) => round(MARGIN.left + (last > first ? (Math.log2(n) - first) / (last - first) : 0.5) * width),
    y: (speed) => round(MARGIN.top + (1 - speed / top) * height),
  }
}

function horizontalAxis(lengths, { x, y }) {
  const ticks = lengths.map(
    (n) => `<text class="tick" x="${x(n)}" y="${y(0) + 18}" text-anchor="middle">${n}</text>`,
  )
  const middle = (MARGIN.left + WIDTH - MARGIN.right) / 2
  return [
    ...ticks,
    `<text class="note" x="${middle}" y="${HEIGHT - 10}" text-anchor="middle">tokens in the prompt</text>`,
  ]
}

function verticalAxis(top, { y }) {
  const ticks = [0, 1, 2, 3, 4].map((i) => (top * i) / 4)
  const right = WIDTH - MARGIN.right
  return [
    ...ticks.map((t) => `<line class="grid" x1="${MARGIN.left}" x2="${right}" y1="${y(t)}" y2="${y(t)}"/>`),
    ...ticks.map(
      (t) => `<text class="tick" x="${MARGIN.left - 8}" y="${y(t) + 4}" text-anchor="end">${t}</text>`,
    ),
    `<text class="note" transform="translate(16 ${(y(0) + y(top)) / 2}) rotate(-90)" text-anchor="middle">tokens/s up to the first token</text>`,
  ]
}

function drawLine({ contender, color, points }, { x, y }) {
  const path = points.map((p, i) => `${i === 0 ? 'M' : 'L'}${x(p.x)} ${y(p.y)}`).join(' ')
  const gains = contender === 'h2o' ? points.filter(({ gain }) => gain !== null) : []
  return [
    `<path d="${path}" fill="none" stroke="${color}" stroke-width="2"/>`,
    ...points.map((p) => `<circle cx="${x(p.x)}" cy="${y(p.y)}" r="3.5" fill="${color}"/>`),
    ...gains.map(
      (p) =>
        `<text class="gain" x="${x(p.x)}" y="${y(p.y) - 10}" text-anchor="middle">${p.gain.toFixed(1)}×</text>`,
    ),
  ]
}

/** Beside the last points, pushed apart where they would overlap. */
function endLabels(lines, { x, y }) {
  const ends = lines
    .map(({ label, color, points }) => ({ label, color, at: x(points.at(-1).x), y: y(points.at(-1).y) }))
    .sort((a, b) => a.y - b.y)
  let below = Number.NEGATIVE_INFINITY
  return ends.map(({ label, color, at, y: wanted }) => {
    below = Math.max(wanted, below + 15)
    return `<text x="${at + 10}" y="${below + 4}" style="fill:${color}">${xml(label)}</text>`
  })
}

/** The next 1, 2 or 5 times a power of ten, times four for round ticks. */
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
