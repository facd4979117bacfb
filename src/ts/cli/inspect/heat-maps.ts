// The pictures of the HTML report: of one head chunk by position, and of all layers chunk by layer.
import { heatColour, heatIndices, heatPalette, kindIndices, kindPalette } from './palette.js'
import { pngDataUri, type Rgb } from './png.js'
import type { HeadChunk } from './recording.js'

/** Rows are chunks, columns positions. */
export interface HeadPictures {
  seen: string
  /** null where the policy has no scores */
  score: string | null
  mass: string
  /** the largest score and the largest share, which end the scales */
  mostScore: number
  mostMass: number
}

export function headPictures(chunks: readonly HeadChunk[]): HeadPictures {
  const ends = chunks.map(({ rows }) => rows.kinds.end)
  const heat = (rows: readonly Float32Array[]): [string, number] => {
    const most = largest(rows)
    return [pngDataUri(heatIndices(rows, ends, most), heatPalette), most]
  }
  const scores = chunks.flatMap(({ rows }) => (rows.score ? [rows.score] : []))
  const [score, mostScore] = scores.length === chunks.length ? heat(scores) : [null, 0]
  const [mass, mostMass] = heat(chunks.map(({ rows }) => rows.mass))
  const seen = pngDataUri(
    chunks.map(({ rows }) => kindIndices(rows.kinds)),
    kindPalette,
  )
  return { seen, score, mass, mostScore, mostMass }
}

/** Rows are layers, columns chunks; figures from 0 to 1 on a linear scale, null is white. */
export function layerPicture(rows: readonly (readonly (number | null)[])[]): string {
  const palette: Rgb[] = [[255, 255, 255], ...Array.from({ length: 101 }, (_, i) => heatColour(i / 100))]
  const indices = rows.map((row) =>
    Uint8Array.from(row, (value) =>
      value === null ? 0 : 1 + Math.round(100 * Math.min(Math.max(value, 0), 1)),
    ),
  )
  return pngDataUri(indices, palette)
}

function largest(rows: readonly Float32Array[]): number {
  let most = 0
  for (const row of rows) for (const value of row) if (value > most) most = value
  return most
}
