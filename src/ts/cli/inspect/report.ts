// What all three forms of the report are made of.
import type { Call, Schedule, Selection } from '../../index.js'
import type { LayerRecord } from './recording.js'
import { allLayers, type LayerFigures, layerFigures } from './summary.js'

export interface Heading {
  /** path and llama.cpp's description */
  model: string
  description: string
  nPrompt: number
  /** tokens of a last dense call, which the figures do not cover */
  denseTail: number
  schedule: Schedule
  select: Selection
  nBatch: number
  nUbatch: number
  /** after clamping */
  local: number
  heavy: number
  nSink: number
  runs: number
  calls: readonly Call[]
}

export interface Report extends Heading {
  layers: readonly LayerRecord[]
  /** of each of these layers */
  figures: readonly LayerFigures[]
  all: LayerFigures
  /** begin of each chunk */
  chunks: readonly { pos: number; n: number }[]
}

export function reportOf(heading: Heading, layers: Report['layers']): Report {
  const figures = layers.map(({ heads }) => layerFigures(heads, heading.local))
  const chunks = (layers[0]?.heads[0] ?? []).map(({ pos, n }) => ({ pos, n }))
  return { ...heading, layers, figures, all: allLayers(figures), chunks }
}
