// Runs a script of model/ that needs nothing but Python itself.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { Failure } from '../../scripts/lib/fail.mjs'
import { PROJECT_ROOT } from '../../scripts/lib/layout.mjs'

export function python(script, ...args) {
  const program = process.env.PYTHON ?? 'python3'
  const { status, stdout, stderr, error } = spawnSync(
    program,
    ['-B', join(PROJECT_ROOT, 'model', script), ...args],
    {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    },
  )
  if (status === 0) return stdout
  const why = error?.message ?? stderr
  throw new Failure(
    `${program} model/${script} failed: ${why.trim()}`,
    'Python 3.9 or later is needed; PYTHON names it.',
  )
}
