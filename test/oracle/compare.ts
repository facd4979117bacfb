import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ggufPython } from '../model/python.js'

export interface Compared {
  /** of logits */
  nmse: number
  /** of all sets of the call, and how many of them the oracle chose too */
  members: number
  alike: number
  /** by votes, the error of a score: relative, absolute below 1 */
  worst: number
}

/** Runs the second oracle on a session (oracle.py) and gives what it found of each call with logits. */
export function compare(job: object): Compared[] {
  const script = fileURLToPath(new URL('oracle.py', import.meta.url))
  const options = {
    input: JSON.stringify(job),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    env: {
      ...process.env,
      OPENBLAS_NUM_THREADS: '1',
      PYTHONPATH: fileURLToPath(new URL('../../model', import.meta.url)),
    },
  } as const
  return JSON.parse(execFileSync(ggufPython as string, ['-B', script], options))
}
