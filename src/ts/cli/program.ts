// The commander program of a command: options only, from its table. What the options do is in commands/.
import { Command, CommanderError, Option } from 'commander'
import { rewriteArgv } from './flags/argv.js'
import { keyOf, longName, type OptionSpec } from './flags/option.js'
import { seeHelp, UsageError } from './shell/usage-error.js'

export interface Parsed<Flags> {
  /** undefined: --help or --version was asked for, and `text` is the answer */
  flags: Flags | undefined
  text: string
  /** switches that were given and change nothing */
  withoutEffect: string[]
}

export interface CommandSpec {
  usage: string
  description: string
  options: readonly OptionSpec[]
  version: string
  /** ends --help */
  notes: string
}

/** @throws UsageError */
export function parseArgv<Flags>(argv: readonly string[], spec: CommandSpec): Parsed<Flags> {
  let text = ''
  const command = buildCommand(spec).configureOutput({
    writeOut: (part) => {
      text += part
    },
    writeErr: () => {},
  })
  try {
    command.parse(rewriteArgv(argv, spec.options), { from: 'user' })
    const flags = command.opts()
    const withoutEffect = spec.options.filter((item) => item.withoutEffect)
    const given = withoutEffect.filter((item) => command.getOptionValueSource(keyOf(item)) === 'cli')
    for (const item of withoutEffect) delete flags[keyOf(item)]
    return { flags: flags as Flags, text, withoutEffect: given.map(longName) }
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { flags: undefined, text, withoutEffect: [] }
    throw usageErrorOf(error)
  }
}

function buildCommand(spec: CommandSpec): Command {
  const command = new Command('h2o-prefill').usage(spec.usage).description(spec.description)
  const terms = new Map<string, string>()
  for (const item of spec.options) {
    const option = buildOption(item)
    terms.set(option.flags, [item.names.join(', '), item.value].filter(Boolean).join(' '))
    command.addOption(option)
  }
  return command
    .optionsGroup(spec.options.findLast(({ withoutEffect }) => !withoutEffect)?.group ?? '')
    .helpOption('-h, --help', 'this text')
    .version(spec.version, '--version', 'version of h2o-llama and of its llama.cpp')
    .addHelpText('after', `\n${spec.notes}\n${environment(spec.options)}`)
    .configureHelp({
      helpWidth: 110,
      optionTerm: (option) => terms.get(option.flags) ?? option.flags,
      optionDescription: ({ description, defaultValue }) =>
        defaultValue === undefined || defaultValue === true
          ? description
          : `${description} (default: ${defaultValue})`,
    })
    .allowExcessArguments(false)
    .exitOverride()
}

function buildOption(spec: OptionSpec): Option {
  const value = spec.value === undefined ? '' : ` <${spec.value}>`
  const option = new Option(longName(spec) + value, spec.help).helpGroup(spec.group)
  const { parse = (text: string) => text } = spec
  if (spec.several) option.argParser((text: string, before: unknown[] = []) => [...before, parse(text)])
  else if (spec.parse) option.argParser((text: string) => parse(text))
  if (spec.default !== undefined) option.default(spec.default)
  if (spec.env === undefined) return option
  const isOff = spec.value === undefined && /^(off|disabled|false|0)$/.test(process.env[spec.env] ?? '')
  return isOff ? option.default(false) : option.env(spec.env) // commander takes a switch with a variable for one that is on
}

function environment(options: readonly OptionSpec[]): string {
  const names = options.flatMap(({ env }) => env ?? []).join(' ')
  return `Environment, as in llama.cpp: ${names}`.replace(/(.{1,110})(?: |$)/g, '$1\n').trimEnd()
}

const hints: Readonly<Record<string, string>> = {
  'commander.unknownOption': seeHelp,
  'commander.excessArguments': 'a value goes behind its flag, such as -m FILE and -p TEXT; --help lists them',
}

// "error: unknown option '--jsn'\n(Did you mean --json?)" in commander's words
function usageErrorOf(error: CommanderError): UsageError {
  const [first = '', second] = error.message.replace(/^error: /, '').split('\n')
  const nearest = second?.replace(/^\(D(.*)\)$/, 'd$1')
  return new UsageError(first, nearest ?? hints[error.code])
}
