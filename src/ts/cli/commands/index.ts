// Every command by name. Each is in a file of its own, which is loaded when the command runs.
import type { CliIo } from '../io.js'

export interface CommandModule {
  /** Runs the command with the arguments after its name; gives the exit code, throws what goes wrong. */
  main(argv: readonly string[], io: CliIo): Promise<number>
}

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
  ['build', () => import('./build.js')],
])

export const defaultCommand = 'run'
