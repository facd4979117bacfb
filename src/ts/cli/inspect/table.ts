// The table of layers, as cells: the text and the HTML show the same one.
import type { Report } from './report.js'
import type { LayerFigures } from './summary.js'

interface Column {
  title: string
  cell(figures: LayerFigures, layer: string): string
}

const percent = (value: number | null) => (value === null ? '-' : `${(100 * value).toFixed(2)} %`)
const overlap = (value: number | null) => (value === null ? '-' : value.toFixed(3))

function columnsOf({ nSink }: Pick<Report, 'nSink'>): Column[] {
  return [
    { title: 'layer', cell: (_, layer) => layer },
    { title: 'own chunk', cell: ({ own }) => percent(own) },
    { title: 'local', cell: ({ local }) => percent(local) },
    { title: 'heavy', cell: ({ heavy }) => percent(heavy) },
    { title: 'coverage', cell: ({ coverage }) => percent(coverage) },
    { title: 'oracle', cell: ({ oracle }) => percent(oracle) },
    { title: `sink (${nSink})`, cell: ({ sink }) => percent(sink) },
    { title: 'heavy turnover', cell: ({ heavyTurnover }) => percent(heavyTurnover) },
    { title: 'head Jaccard', cell: ({ headJaccard }) => overlap(headJaccard) },
    { title: 'run Jaccard', cell: ({ runJaccard }) => overlap(runJaccard) },
  ]
}

/** Titles, one row per layer, and one of all layers. */
export function tableOf(report: Report): string[][] {
  const columns = columnsOf(report)
  const row = (figures: LayerFigures, layer: string) => columns.map(({ cell }) => cell(figures, layer))
  return [
    columns.map(({ title }) => title),
    ...report.layers.map(({ layer }, at) => row(report.figures[at] as LayerFigures, String(layer))),
    row(report.all, 'all'),
  ]
}
