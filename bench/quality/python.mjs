// Runs a script of model/ that needs nothing but Python itself.

import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { Failure } from '../../scripts/lib/fail.mjs'
import { PROJECT_ROOT } from '../../scripts/lib/layout.mjs'

/** The first interpreter that can run `code`, if there is one. */
export function interpreter(code) {
  return [process.env.PYTHON ?? 'python3', '/usr/bin/python3'].find((program) => {
    try {
      execFileSync(program, ['-c', code], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })
}

export const plainPython = () => interpreter('import sys; assert sys.version_info >= (3, 9)')

export function python(script, ...args) {
  const program = plainPython() ?? process.env.PYTHON ?? 'python3'
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
