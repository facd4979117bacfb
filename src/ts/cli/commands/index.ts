// Every command by name. Each is in a file of its own, which is loaded when the command runs.
import type { CommandModule } from '../command.js'

export const commands: ReadonlyMap<string, () => Promise<CommandModule>> = new Map<
  string,
  () => Promise<CommandModule>
>([
  ['run', () => import('./run.js')],
  ['bench', () => import('./bench.js')],
  ['compare', () => import('./compare.js')],
  ['parity', () => import('./parity.js')],
  ['inspect', () => import('./inspect.js')],
  ['doctor', () => import('./doctor.js')],
  ['serve', () => import('./serve.js')],
  ['model', () => import('./model.js')],
  ['build', () => import('./build.js')],
])

export const defaultCommand = 'run'
