// Changes to copies of sources.

import { readFileSync, writeFileSync } from 'node:fs'

/** A string stands there once; of a pattern, at least one match is another text afterwards. */
export function edit(path: string, from: string | RegExp, to: (...match: string[]) => string) {
  const before = readFileSync(path, 'utf8')
  const after = before.replace(from, to)
  if (after === before || (typeof from === 'string' && before.split(from).length > 2))
    throw new Error(`"${from}" cannot be changed in ${path}: it is not there, or more than once`)
  writeFileSync(path, after)
}
