// What every command does with its arguments before its work.

import { type CommandSpec, parseArgv } from './program.js'
import type { CliIo } from './shell/io.js'
import { answer } from './shell/output.js'
import { versions } from './version.js'

export interface CommandModule {
  /** Runs the command with the arguments after its name; gives the exit code, throws what goes wrong. */
  main(argv: readonly string[], io: CliIo): Promise<number>
}

/** The main() of a command: --help and --version, a line for each switch without effect, and then `run`. */
export function commandMain<Flags>(
  spec: Omit<CommandSpec, 'version'>,
  run: (flags: Flags, io: CliIo) => Promise<number>,
): CommandModule['main'] {
  return async (argv, io) => {
    const { flags, text, withoutEffect } = parseArgv<Flags>(argv, { ...spec, version: versions() })
    if (!flags) return answer(io, text)
    for (const name of withoutEffect) io.stderr.write(`h2o-prefill: ${name} has no effect\n`)
    return run(flags, io)
  }
}
