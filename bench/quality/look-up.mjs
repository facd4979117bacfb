// Figures of a result by what they are of.

/** @param {object[]} cells of a Tally */
export function cellOf(cells, setting, task, length, ask) {
  return cells.find(
    (cell) =>
      cell.setting === setting &&
      cell.task === task &&
      cell.length === length &&
      cell.ask === askIn(cell, ask),
  )
}

/** A dense context has one way to ask, and an answer within the prompt is asked for in no other. */
function askIn({ setting, ask }, wanted) {
  return ask === 'inside' || setting === 'dense' ? ask : wanted
}

/** @param {object[]} rows of the perplexities */
export function perplexityOf(rows, key, length) {
  return rows.find((row) => row.key === key && row.length === length)
}

export function unique(values) {
  return [...new Set(values)]
}

export function ascending(values) {
  return unique(values).sort((a, b) => a - b)
}
