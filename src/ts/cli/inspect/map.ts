// A picture of the report with what its rows and columns are, and what its scale ends at.
import { escapeHtml } from './escape.js'

export interface HeatMap {
  /** a data URI */
  src: string
  alt: string
  /** what a narrow screen, which has no row of titles, writes above it */
  title: string
  /** of the picture, in pixels */
  height: number
  /** the first and the last column and row */
  columns: readonly [string, string]
  rows: readonly [string, string]
  /** between the ends of the columns */
  scale?: string
}

export function heatMap({ src, alt, title, height, columns, rows, scale = '' }: HeatMap): string {
  const ends = (texts: readonly string[]) => texts.map((text) => `<i>${escapeHtml(text)}</i>`).join('')
  return (
    `<span class="map" data-title="${escapeHtml(title)}"><span class="rows">${ends(rows)}</span>` +
    `<img loading="lazy" style="height:${height}px" src="${src}" alt="${escapeHtml(alt)}">` +
    `<span class="columns">${ends([columns[0], scale, columns[1]])}</span></span>`
  )
}
