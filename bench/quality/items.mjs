// The items of model/eval_items.py.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { python } from './python.mjs'

/**
 * @param {{ text: string, chunk: number, seed: number }} common  @param {{ tasks: string[], lengths: number[], contexts: number }[]} cases
 * @returns {{ task: string, length: number, ids: number[], asks: object[] }[]}
 */
export function makeItems({ text, chunk, seed }, cases) {
  const folder = mkdtempSync(join(tmpdir(), 'h2o-quality-'))
  try {
    const file = join(folder, 'text')
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
    rmSync(folder, { recursive: true, force: true })
  }
}
