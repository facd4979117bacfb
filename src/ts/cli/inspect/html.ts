// The report as one HTML page that needs nothing else: no script, no network, pictures inside.
import { basename } from 'node:path'
import { mean } from '../statistics.js'
import { chartSvg } from './chart.js'
import { escapeHtml } from './escape.js'
import { headPictures, layerPicture } from './heat-maps.js'
import { heatMap } from './map.js'
import { css, DECADES, heatColour, kindColours, LATER } from './palette.js'
import type { HeadChunk, LayerRecord } from './recording.js'
import type { Report } from './report.js'
import { chunkFigures, hasMemory } from './summary.js'
import { tableOf } from './table.js'
import { caption } from './text.js'

/** The page in parts, so that a large one is never in memory as a whole. */
export function* renderHtml(report: Report): Generator<string> {
  const title = `h2o-prefill inspect: ${basename(report.model)}`
  yield `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>${escapeHtml(title)}</title>\n`
  yield `<meta name="viewport" content="width=device-width">\n<style>${STYLE}</style>\n</head>\n<body>\n`
  yield `<h1>${escapeHtml(title)}</h1>\n`
  yield `<p>${caption(report).map(escapeHtml).join('<br>\n')}</p>\n`
  yield table(report)
  yield overview(report)
  for (const at of report.layers.keys()) yield* layerSection(report, at)
  yield '</body>\n</html>\n'
}

function table(report: Report): string {
  const [titles = [], ...rows] = tableOf(report).map((row) => row.map(escapeHtml))
  const head = titles.map((title) => `<th scope="col">${title}</th>`).join('')
  const body = rows.map(
    ([layer, ...cells]) =>
      `<tr><th scope="row">${layer}</th>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`,
  )
  return `<div class="wide"><table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${body.join('\n')}\n</tbody>\n</table></div>\n`
}

// one figure of a layer's chunk, null where there was nothing to measure
type ChunkFigure = (heads: readonly (readonly HeadChunk[])[], i: number, local: number) => number | null

const ofHeads =
  (value: (chunk: HeadChunk) => number | null): ChunkFigure =>
  (heads, i) =>
    mean(heads.map((chunks) => value(chunks[i] as HeadChunk)))

const withMemory = (value: (chunk: HeadChunk) => number | null) =>
  ofHeads((chunk) => (hasMemory(chunk) ? value(chunk) : null))

const chunkCharts: readonly [string, ChunkFigure][] = [
  ['Coverage', withMemory(({ shares }) => shares.coverage)],
  ['Oracle coverage', withMemory(({ shares }) => shares.oracle)],
  ['Sink mass', ofHeads(({ shares }) => shares.sink)],
  ['Heavy turnover', ofHeads(({ heavyTurnover }) => heavyTurnover)],
  ['Jaccard overlap of Heavy between heads', (heads, i, local) => chunkFigures(heads, i, local).headJaccard],
]

function overview(report: Report): string {
  const figure = ([title, value]: (typeof chunkCharts)[number]) => {
    const rows = report.layers.map(({ heads }) => report.chunks.map((_, i) => value(heads, i, report.local)))
    const map = heatMap({
      src: layerPicture(rows),
      alt: `${title} by layer and chunk`,
      title: '',
      height: Math.max(60, Math.min(12 * rows.length, 280)),
      columns: chunkEnds(report),
      rows: [layerName(report.layers.at(0)), layerName(report.layers.at(-1))],
    })
    return `<figure class="grid"><figcaption>${title}</figcaption>${map}</figure>`
  }
  return (
    '<h2>Layers and chunks</h2>\n<p>Rows are layers from the first at the top, columns are chunks from the left; ' +
    `0 ${gradient()} 1, white where there is nothing to measure.</p>\n` +
    `<div class="row">\n${chunkCharts.map(figure).join('\n')}\n</div>\n` +
    `<h2>Heavy turnover by chunk</h2>\n${turnoverChart(report)}`
  )
}

function turnoverChart(report: Report): string {
  const { layers, local } = report
  const value = ofHeads(({ heavyTurnover }) => heavyTurnover)
  const lines = layers.map(({ layer, heads }, at) => ({
    label: `layer ${layer}`,
    colour: layerColour(at, layers.length),
    values: report.chunks.map((_, i) => value(heads, i, local)),
  }))
  return (
    `<p>One line per layer, mean over its heads; first layer ${gradient(0.85)} last layer.</p>\n` +
    `${chartSvg({ title: 'Heavy turnover by chunk', lines, ...ends(report) })}\n`
  )
}

const layerName = (record?: LayerRecord) => (record ? `layer ${record.layer}` : '')

function* layerSection(report: Report, at: number): Generator<string> {
  const { layer, heads } = report.layers[at] as LayerRecord
  const all = report.figures[at]
  const short =
    all?.coverage == null || all.oracle === null
      ? ''
      : ` <small>coverage ${percent(all.coverage)}, oracle ${percent(all.oracle)}</small>`
  yield `<details${at === 0 ? ' open' : ''}>\n<summary>Layer ${layer}${short}</summary>\n`
  yield `<div class="row">\n${massChart(report, heads)}\n${changeChart(report, heads)}\n</div>\n`
  const scored = heads.every((chunks) => chunks.every(({ rows }) => rows.score !== null))
  yield `<p>${kindLegend()}<br>\n${scored ? 'Scores and dense mass' : 'Dense mass'}, of the largest position of a column: 1/${10 ** DECADES} ${gradient()} the largest of ` +
    `the head, logarithmic.<br>\nPositions 0 to ${report.nPrompt - 1} from the left, chunks from the top.</p>\n`
  const titles = ['seen', ...(scored ? ['score'] : []), 'dense mass'].map((title) => `<b>${title}</b>`)
  yield `<div class="heads${scored ? '' : ' unscored'}">\n<b></b>${titles.join('')}\n`
  for (const [head, chunks] of heads.entries()) {
    const { seen, score, mass, mostScore, mostMass } = headPictures(chunks)
    const height = Math.max(40, Math.min(10 * chunks.length, 200))
    const map = (title: string, src: string, scale = '') =>
      heatMap({
        ...{ src, title, height, scale, alt: `layer ${layer}, head ${head}: ${title} ${scale}` },
        columns: ['0', String(report.nPrompt - 1)],
        rows: chunkEnds(report),
      })
    yield `<span>head ${head}</span>${map('seen', seen)}` +
      `${score === null ? '' : map('score', score, `up to ${mostScore.toPrecision(4)}`)}` +
      `${map('dense mass', mass, `up to ${percent(mostMass)}`)}\n`
  }
  yield '</div>\n</details>\n'
}

function massChart(report: Report, heads: LayerRecord['heads']): string {
  const values = (value: (chunk: HeadChunk) => number | null) =>
    report.chunks.map((_, i) => mean(heads.map((chunks) => value(chunks[i] as HeadChunk))))
  const area = (label: string, colour: string, share: 'own' | 'local' | 'heavy' | 'lost') => ({
    label,
    colour,
    values: values(({ shares }) => shares[share]),
  })
  const areas = [
    area('own chunk', css(kindColours.own), 'own'),
    area('Local', css(kindColours.local), 'local'),
    area('Heavy', css(kindColours.heavyKept), 'heavy'),
    area('not seen', css(LATER), 'lost'),
  ]
  const lines = [
    { label: 'oracle', colour: 'black', values: values(({ shares }) => shares.oracle) },
    { label: 'sink', colour: 'rgb(204,121,167)', values: values(({ shares }) => shares.sink) },
  ]
  const legend = [...areas, ...lines].map(({ label, colour }) => swatch(colour, label)).join(' ')
  return (
    `<figure><figcaption>Where dense attention looks: ${legend}</figcaption>` +
    `${chartSvg({ title: 'Shares of dense attention by chunk', areas, lines, ...ends(report) })}</figure>`
  )
}

function changeChart(report: Report, heads: LayerRecord['heads']): string {
  const lines = heads.map((chunks, head) => ({
    label: `head ${head}`,
    colour: layerColour(head, heads.length),
    values: chunks.map(({ heavyTurnover }) => heavyTurnover),
  }))
  const legend = lines.map(({ label, colour }) => swatch(colour, label)).join(' ')
  return (
    `<figure><figcaption>Heavy turnover: ${legend}</figcaption>` +
    `${chartSvg({ title: 'Heavy turnover by chunk', lines, ...ends(report) })}</figure>`
  )
}

function chunkEnds({ chunks }: Report): [string, string] {
  return ['chunk 0', `chunk ${chunks.length - 1}`]
}

function ends(report: Report): { from: string; to: string } {
  const [from, to] = chunkEnds(report)
  return { from, to }
}

function kindLegend(): string {
  const { own, local, heavyNew, heavyKept } = kindColours
  return [
    'Seen:',
    swatch(css(own), 'own chunk'),
    swatch(css(local), 'Local'),
    swatch(css(heavyNew), 'Heavy, new from the chunk before'),
    swatch(css(heavyKept), 'Heavy with a score that it inherited'),
    swatch('white', 'not seen'),
    swatch(css(LATER), 'behind the chunk;'),
    'paler where only a part of a column is.',
  ].join(' ')
}

// not up to the lightest colour, which would not show on white
function layerColour(i: number, n: number): string {
  return css(heatColour(n > 1 ? (0.85 * i) / (n - 1) : 0))
}

function gradient(end = 1): string {
  const colours = [0, 0.25, 0.5, 0.75, 1].map((t) => css(heatColour(t * end)))
  return `<span class="scale" style="background:linear-gradient(to right,${colours.join(',')})"></span>`
}

function swatch(colour: string, label: string): string {
  return `<span class="key"><span class="swatch" style="background:${colour}"></span> ${label}</span>`
}

function percent(value: number): string {
  return `${(100 * value).toFixed(2)} %`
}

// charts and pictures are on white in the dark, too: their colours are chosen for it
const STYLE = `
:root{color-scheme:light dark;--text:#222;--page:#fff;--line:#ddd;--edge:#999;--small:#666}
@media (prefers-color-scheme:dark){:root{--text:#e6e6e6;--page:#16181c;--line:#3a3d44;--edge:#777;--small:#a0a0a0}}
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1400px;padding:0 1em;color:var(--text);background:var(--page)}
h1{font-size:1.4em;overflow-wrap:anywhere}h2{font-size:1.15em;margin-top:2em}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.15em .8em;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
tbody tr:last-child{font-weight:bold}
.row{display:flex;flex-wrap:wrap;gap:1em 2em}
figure{margin:0;max-width:100%;display:flex;flex-direction:column;justify-content:flex-end}figcaption{margin-bottom:.3em;max-width:440px}
.grid{width:300px}
.map{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.1em .4em;min-width:0}
.map i{font-style:normal}
.rows,.columns{display:flex;justify-content:space-between;font-size:10px;line-height:1.2;color:var(--small);font-variant-numeric:tabular-nums}
.rows{flex-direction:column;text-align:right}.columns{grid-column:2}
img{image-rendering:pixelated;width:100%;display:block;outline:1px solid var(--edge);background:#fff}
details{margin-top:1em}summary{font-size:1.15em;cursor:pointer}
small{color:var(--small);font-size:.8em;margin-left:1em}
.heads{display:grid;grid-template-columns:max-content repeat(3,minmax(0,1fr));gap:.6em .8em;align-items:center}
.unscored{grid-template-columns:max-content repeat(2,minmax(0,1fr))}
.key{white-space:nowrap}
.swatch{display:inline-block;width:.8em;height:.8em;outline:1px solid var(--edge)}
.scale{display:inline-block;width:8em;height:.8em;outline:1px solid var(--edge)}
svg{max-width:100%;height:auto;background:#fff}
svg text{font-size:10px;fill:#444}svg .grid{stroke:#000;stroke-opacity:.15}
@media (max-width:700px){
.heads{grid-template-columns:minmax(0,1fr)}.heads>b{display:none}.heads>span:not(.map){font-weight:bold;margin-top:.6em}
.heads .map::before{content:attr(data-title);grid-column:2}
.grid{width:100%}
}
`
