// `run` with the defaults of the command line for every flag that is not given.
import { run as runCommand } from '../../../src/ts/cli/commands/run.js'
import type { RunFlags } from '../../../src/ts/cli/flags/options.js'
import { runOptions } from '../../../src/ts/cli/flags/options.js'
import { parseArgv } from '../../../src/ts/cli/program.js'

export type { RunFlags }

const spec = { usage: '', description: '', options: runOptions, version: '', notes: '' }

export function run(
  flags: Partial<RunFlags>,
  ...rest: Parameters<typeof runCommand> extends [unknown, ...infer R] ? R : never
) {
  const defaults = parseArgv<RunFlags>([], spec).flags as RunFlags
  return runCommand({ ...defaults, ...flags } as RunFlags, ...rest)
}
