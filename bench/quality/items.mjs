// The items of model/eval_items.py.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../temporary.mjs'
import { python } from './python.mjs'

/**
 * @param {{ text: string, chunk: number, seed: number }} common  @param {{ tasks: string[], lengths: number[], contexts: number }[]} cases
 * @returns {{ task: string, length: number, ids: number[], asks: object[] }[]}
 */
export function makeItems({ text, chunk, seed }, cases) {
  const folder = temporaryFolder('quality')
  try {
    const file = join(folder.path, 'text')
    writeFileSync(file, text)
    return cases.flatMap(({ tasks, lengths, contexts }) =>
      python(
        'eval_items.py',
        ...['--text', file, '--chunk', String(chunk), '--seed', String(seed)],
        ...['--tasks', tasks.join(','), '--lengths', lengths.join(','), '--contexts', String(contexts)],
      )
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    )
  } finally {
    folder.remove()
  }
}
