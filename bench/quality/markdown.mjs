// Tables and lists of a report.

/** The first column to the left, the others to the right. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

export function list(lines) {
  return lines.map((line) => `- ${line}`).join('\n')
}
