// Plain columns: words to the left, times to the right.

export function table(rows, { words = 1 } = {}) {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)))
  const cell = (text, i) => (i < words ? text.padEnd(widths[i]) : text.padStart(widths[i]))
  return rows.map((row) => row.map(cell).join('  ').trimEnd()).join('\n')
}

export const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`

/** How much sooner than `dense` it came. */
export const sooner = (dense, ms) => `${(dense / ms).toFixed(1)} times as soon`
