/** Runs the training pipeline's Python: its parts that need nothing installed, and those that need gguf or torch. */

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import * as finder from '../../bench/quality/python.mjs'

const folder = fileURLToPath(new URL('../../model', import.meta.url))

/** The output of `program` with `args`, run in model/. */
function run(program: string, args: string[]): string {
  return execFileSync(program, ['-B', ...args], { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26 })
}

export const plainPython = finder.plainPython()
export const ggufPython = finder.interpreter('import gguf')
export const torchPython = finder.interpreter('import torch')

export const python = (...args: string[]) => run(plainPython as string, args)
export const pythonWithGguf = (...args: string[]) => run(ggufPython as string, args)
export const pythonWithTorch = (...args: string[]) => run(torchPython as string, args)
