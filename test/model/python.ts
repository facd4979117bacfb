/** Runs the training pipeline's Python: its parts that need nothing installed, and those that need numpy. */

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../model', import.meta.url))

/** The output of `program` with `args`, run in model/. */
function run(program: string, args: string[]): string {
  return execFileSync(program, ['-B', ...args], { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26 })
}

/** The first interpreter that can run `code`, if there is one. */
function interpreter(code: string): string | undefined {
  return [process.env.PYTHON ?? 'python3', '/usr/bin/python3'].find((program) => {
    try {
      execFileSync(program, ['-c', code], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })
}

export const plainPython = interpreter('import sys; assert sys.version_info >= (3, 9)')
export const numpyPython = interpreter('import numpy')

export const python = (...args: string[]) => run(plainPython as string, args)
export const pythonWithNumpy = (...args: string[]) => run(numpyPython as string, args)
