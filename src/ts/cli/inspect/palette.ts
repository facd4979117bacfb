// The colours of the heat maps, and which of them a cell gets.
import { type Kind, type KindRow, kinds } from './kinds.js'
import type { Rgb } from './png.js'

// Okabe and Ito's, which colour-blind readers can tell apart
export const kindColours: Record<Kind, Rgb> = {
  own: [130, 135, 140],
  local: [0, 114, 178],
  heavyNew: [0, 158, 115],
  heavyKept: [213, 94, 0],
}

export const UNSEEN: Rgb = [255, 255, 255]
/** columns behind the chunk */
export const LATER: Rgb = [232, 234, 237]

const LEVELS = 16

/** 0 unseen, 1 later, then LEVELS of each kind */
export const kindPalette: readonly Rgb[] = [
  UNSEEN,
  LATER,
  ...kinds.flatMap((kind) =>
    Array.from({ length: LEVELS }, (_, level) => mix(UNSEEN, kindColours[kind], shade((level + 1) / LEVELS))),
  ),
]

export function kindIndices({ kind, share, end }: KindRow): Uint8Array {
  return Uint8Array.from(kind, (index, column) => {
    if (column >= end) return 1
    if (index < 0) return 0
    return 2 + index * LEVELS + Math.max(1, Math.ceil((share[column] as number) * LEVELS)) - 1
  })
}

// a single position of a wide column is still to be seen
function shade(share: number): number {
  return 0.3 + 0.7 * share
}

const HEAT_LEVELS = 64

// dark to light through five colours, evenly rising in lightness
const stops: readonly Rgb[] = [
  [20, 11, 52],
  [89, 23, 109],
  [178, 50, 84],
  [239, 120, 40],
  [252, 240, 160],
]

/** 0 nothing there, 1 later, then HEAT_LEVELS from low to high */
export const heatPalette: readonly Rgb[] = [
  UNSEEN,
  LATER,
  ...Array.from({ length: HEAT_LEVELS }, (_, level) => heatColour(level / (HEAT_LEVELS - 1))),
]

export function heatColour(t: number): Rgb {
  const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1)
  const low = Math.min(Math.floor(at), stops.length - 2)
  return mix(stops[low] as Rgb, stops[low + 1] as Rgb, at - low)
}

/** Decades below the largest value that the colours reach. */
export const DECADES = 4

/**
 * On a logarithmic scale that ends at `most`; NaN is nothing. `ends`: from which column on a row lies behind its chunk.
 */
export function heatIndices(
  rows: readonly Float32Array[],
  ends: readonly number[],
  most: number,
): Uint8Array[] {
  return rows.map((row, r) =>
    Uint8Array.from(row, (value, column) => {
      if (column >= (ends[r] as number)) return 1
      if (Number.isNaN(value)) return 0
      const t = value > 0 ? 1 + Math.log10(value / most) / DECADES : 0
      return 2 + Math.round(Math.min(Math.max(t, 0), 1) * (HEAT_LEVELS - 1))
    }),
  )
}

export function css([r, g, b]: Rgb): string {
  return `rgb(${r},${g},${b})`
}

function mix(a: Rgb, b: Rgb, t: number): Rgb {
  const channel = (i: 0 | 1 | 2) => Math.round(a[i] + t * (b[i] - a[i]))
  return [channel(0), channel(1), channel(2)]
}
