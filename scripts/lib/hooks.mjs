// Hook markers: every place where a patch asks our code carries a comment `h2o: <hook-name>`, and patches/README.md
// lists each of them in a table | `name` | file | what it asks |. Both ways, with the file.

import { existsSync, readFileSync } from 'node:fs'

const MARKER = /(?:\/\/|\/\*|#)\s*h2o: ([a-z0-9]+(?:[-_.][a-z0-9]+)*)/g
const ROW = /^\|\s*`([^`]+)`\s*\|\s*`?([^|`]+?)`?\s*\|\s*(.*?)\s*\|\s*$/

const markersOf = (text) => [...text.matchAll(MARKER)].map((match) => match[1])

/** The markers that a patch adds: [{ name, file, line }]. */
export function markersIn(patch) {
  return patch.files.flatMap(({ path, hunks }) =>
    hunks.flatMap(({ rows }) =>
      rows
        .filter((row) => row.kind === '+')
        .flatMap((row) => markersOf(row.text).map((name) => ({ name, file: path, line: row.line }))),
    ),
  )
}

/**
 * The changed groups of a patch that no marker explains: [{ file, line, text }]. A group is a run of added (or, alone,
 * removed) lines; it is explained by a marker inside it or earlier in the same hunk.
 */
export function unmarked(patch) {
  const found = []
  for (const { path, hunks } of patch.files) {
    for (const { rows } of hunks) {
      let marked = false
      for (const group of groups(rows)) {
        marked ||= group.some((row) => row.kind !== '-' && markersOf(row.text).length > 0)
        const change = group.find((row) => row.kind === '+') ?? group.find((row) => row.kind === '-')
        if (change && !marked) found.push({ file: path, line: change.line, text: change.text.trim() })
      }
    }
  }
  return found
}

/** Runs of changed rows and runs of context rows, in order. */
function groups(rows) {
  const result = []
  for (const row of rows) {
    const changed = row.kind !== ' '
    if (result.length === 0 || result.at(-1).changed !== changed) result.push(Object.assign([], { changed }))
    result.at(-1).push(row)
  }
  return result
}

/** The rows of the hook table: [{ name, file, asks, line }]. */
export function readHookTable(file) {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text, i) => {
      const row = ROW.exec(text)
      return row ? [{ name: row[1], file: row[2].trim(), asks: row[3], line: i + 1 }] : []
    })
}

/** Complaints where patches and table disagree. */
export function compareHooks(patches, table) {
  const complaints = []
  const markers = patches.flatMap((patch) =>
    markersIn(patch).map((marker) => ({ ...marker, patch: patch.name })),
  )
  const key = ({ name, file }) => `${name}\0${file}`
  const rows = new Map(table.map((row) => [key(row), row]))
  const used = new Set(markers.map(key))

  for (const marker of new Map(markers.map((m) => [key(m), m])).values()) {
    if (rows.has(key(marker))) continue
    const elsewhere = table.filter((row) => row.name === marker.name).map((row) => row.file)
    const hint = elsewhere.length > 0 ? ` (it lists that name for ${elsewhere.join(', ')})` : ''
    complaints.push(
      `${marker.patch} has the marker "h2o: ${marker.name}" at ${marker.file}:${marker.line}, ` +
        `but the table of patches/README.md has no row for it${hint}.`,
    )
  }
  for (const row of table) {
    const where = `patches/README.md:${row.line}: \`${row.name}\` in ${row.file}`
    if (!used.has(key(row))) complaints.push(`${where} has no marker in any patch.`)
    if (row.asks === '') complaints.push(`${where} does not say what it asks.`)
    if (rows.get(key(row)) !== row) complaints.push(`${where} is listed twice.`)
  }
  return complaints
}
