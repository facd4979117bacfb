// Small SVG charts of figures between 0 and 1 over the chunks of a prompt.
import { escapeHtml } from './escape.js'

export interface Series {
  label: string
  colour: string
  /** by chunk; null leaves a gap */
  values: readonly (number | null)[]
}

export interface Chart {
  title: string
  /** drawn one on top of the other */
  areas?: readonly Series[]
  lines?: readonly Series[]
  /** what the ends of the axis are called */
  from: string
  to: string
}

const WIDTH = 440
const HEIGHT = 150
const LEFT = 38
const BOTTOM = 16
const TOP = 6

export function chartSvg({ title, areas = [], lines = [], from, to }: Chart): string {
  const n = Math.max(1, ...[...areas, ...lines].map(({ values }) => values.length))
  const x = (i: number) => LEFT + (n > 1 ? (i * (WIDTH - LEFT - 4)) / (n - 1) : 0)
  const y = (value: number) => TOP + (1 - Math.min(Math.max(value, 0), 1)) * (HEIGHT - TOP - BOTTOM)
  const point = (i: number, value: number) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`
  const parts: string[] = []

  const base: number[] = Array.from({ length: n }, () => 0)
  for (const { label, colour, values } of areas) {
    const top = base.map((low, i) => low + (values[i] ?? 0))
    const there = top.flatMap((_, i) => (values[i] === null || values[i] === undefined ? [] : [i]))
    const upper = there.map((i) => point(i, top[i] as number))
    const lower = there.map((i) => point(i, base[i] as number)).reverse()
    parts.push(`<polygon points="${[...upper, ...lower].join(' ')}" fill="${colour}">${tip(label)}</polygon>`)
    for (const i of there) base[i] = top[i] as number
  }
  for (const { label, colour, values } of lines) {
    for (const run of runsOf(values)) {
      const points = run.map(([i, value]) => point(i, value)).join(' ')
      parts.push(
        run.length === 1
          ? `<circle cx="${points.split(',')[0]}" cy="${points.split(',')[1]}" r="2" fill="${colour}">${tip(label)}</circle>`
          : `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="1.5">${tip(label)}</polyline>`,
      )
    }
  }
  const grid = [0, 0.5, 1].map(
    (value) =>
      `<line x1="${LEFT}" x2="${WIDTH - 4}" y1="${y(value)}" y2="${y(value)}" class="grid"/>` +
      `<text x="${LEFT - 4}" y="${y(value) + 4}" text-anchor="end">${100 * value} %</text>`,
  )
  return (
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escapeHtml(title)}">` +
    `${parts.join('')}${grid.join('')}` +
    `<text x="${LEFT}" y="${HEIGHT - 3}">${escapeHtml(from)}</text>` +
    `<text x="${WIDTH - 4}" y="${HEIGHT - 3}" text-anchor="end">${escapeHtml(to)}</text></svg>`
  )
}

/** Neighbours that have a value. */
function runsOf(values: readonly (number | null)[]): [number, number][][] {
  const runs: [number, number][][] = []
  let run: [number, number][] = []
  for (const [i, value] of values.entries()) {
    if (value !== null) run.push([i, value])
    if (value === null || i === values.length - 1) {
      if (run.length > 0) runs.push(run)
      run = []
    }
  }
  return runs
}

function tip(label: string): string {
  return `<title>${escapeHtml(label)}</title>`
}
