// The entry of h2o-prefill: finds the command, runs it, and turns whatever it throws into a message and an exit code.
import { commands, defaultCommand } from './commands/index.js'
import { exitCodeOf } from './shell/exit-codes.js'
import { withFileLimit } from './shell/file-limit.js'
import { type CliIo, processIo } from './shell/io.js'
import { reportError } from './shell/report-error.js'
import { UsageError } from './shell/usage-error.js'

/** Runs a command line (without node and the script); resolves to the exit code and never rejects. */
export async function main(argv: readonly string[], io: CliIo = processIo): Promise<number> {
  io.stderr.on?.('error', () => {}) // nobody is there to be told
  try {
    const [name, rest] = commandOf(helpFor(argv))
    const load = commands.get(name)
    if (!load) {
      throw new UsageError(
        `unknown command '${name}'`,
        `the commands are: ${[...commands.keys()].join(', ')}`,
      )
    }
    const command = await load()
    return await command.main(rest, io)
  } catch (thrown) {
    const error = withFileLimit(thrown)
    reportError(error, io.stderr, wantsStack(error, argv, io))
    return exitCodeOf(error)
  }
}

/** `help COMMAND` is COMMAND --help, and `help` alone is --help. */
function helpFor(argv: readonly string[]): readonly string[] {
  if (argv[0] !== 'help') return argv
  const [, name, ...more] = argv
  if (more.length > 0) throw new UsageError('help takes one command')
  return name === undefined ? ['--help'] : [name, '--help']
}

// a command is the first argument or it is not there
function commandOf(argv: readonly string[]): [string, readonly string[]] {
  const [first] = argv
  return first === undefined || first.startsWith('-') ? [defaultCommand, argv] : [first, argv.slice(1)]
}

function wantsStack(error: unknown, argv: readonly string[], { env }: CliIo): boolean {
  if (env.H2O_DEBUG) return true
  return !(error instanceof UsageError) && (argv.includes('-v') || argv.includes('--verbose'))
}
