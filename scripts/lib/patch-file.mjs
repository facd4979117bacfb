// A patch file: a text header that says why the patch must exist, then a unified diff. Read-only view of one.

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/**
 * { header, diff, subject, reason, stock, files: [{ path, hunks: [{ line, rows: [{ kind, text, line }] }] }] }
 * `stock`: its header says "Trees: patched, stock", so the tree that we call stock gets it, too.
 * `kind` is '+', '-' or ' '; a row's `line` is its line in the patched file (for '-': where it was taken out).
 */
export function parsePatch(text) {
  const start = text.startsWith('diff --git ') ? 0 : text.indexOf('\ndiff --git ') + 1
  const at = start === 0 && !text.startsWith('diff --git ') ? text.length : start
  const header = text.slice(0, at).replace(/(?<=[^\n])$/, '\n')
  const diff = text.slice(at)
  const subject = /^Subject: *(.+)$/m.exec(header)?.[1] ?? null
  const stock = /^Trees: *patched, *stock *$/m.test(header)
  const reason = header.replace(/^[A-Z][\w-]*: .*$/gm, '').trim()
  return { header, diff, subject, reason, stock, files: parseDiff(diff) }
}

export function parseDiff(diff) {
  const files = []
  let hunk = null
  let line = 0
  for (const row of diff.split('\n')) {
    const file = /^diff --git a\/(.+) b\/\1$/.exec(row)
    if (file) {
      files.push({ path: file[1], hunks: [] })
      hunk = null
      continue
    }
    const start = HUNK.exec(row)
    if (start && files.length > 0) {
      line = Number(start[2])
      hunk = { line, rows: [] }
      files.at(-1).hunks.push(hunk)
      continue
    }
    if (!hunk || !/^[ +-]/.test(row)) continue
    hunk.rows.push({ kind: row[0], text: row.slice(1), line })
    if (row[0] !== '-') line += 1
  }
  return files
}

/** Added plus removed lines of one file of a patch. */
export function changedLines(file) {
  return file.hunks.reduce((sum, hunk) => sum + hunk.rows.filter((row) => row.kind !== ' ').length, 0)
}
