// Stands before commander, which knows neither `-ub` nor two long names for one option: every option is rewritten to
// its long name, with its value after "=". So `-n -1`, `-p --json` and `-ub=1024` mean what they look like.

import { seeHelp, UsageError } from '../shell/usage-error.js'
import { absentReason } from './llama-args.js'
import { longName, type OptionSpec } from './option.js'

/**
 * As llama.cpp reads a command line: an option with a value takes the next argument, whatever it looks like, and
 * underscores in long names are dashes. What is unknown is left to commander, apart from `-xyz`, which it would take
 * for `-x yz`.
 *
 * @throws UsageError for an unknown option with one dash, and for one of llama.cpp that is not here
 */
export function rewriteArgv(argv: readonly string[], specs: readonly OptionSpec[]): string[] {
  const byName = new Map(specs.flatMap((spec) => spec.names.map((name) => [name, spec] as const)))
  const out: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i] as string
    if (arg === '--') return [...out, ...argv.slice(i)]

    const { name, inline } = split(arg)
    const spec = byName.get(name)
    if (!spec) {
      const reason = absentReason(name)
      if (reason) throw new UsageError(`llama.cpp's ${name} is not here`, reason)
      if (/^-[^-]./.test(arg)) throw unknownOption(name, byName)
      out.push(arg)
    } else if (spec.value === undefined) {
      out.push(inline === undefined ? longName(spec) : `${longName(spec)}=${inline}`)
    } else {
      const value = inline ?? argv[++i]
      out.push(value === undefined ? longName(spec) : `${longName(spec)}=${value}`)
    }
  }
  return out
}

function split(arg: string): { name: string; inline: string | undefined } {
  const at = arg.startsWith('-') ? arg.indexOf('=') : -1
  const name = at < 0 ? arg : arg.slice(0, at)
  return {
    name: name.startsWith('--') ? name.replaceAll('_', '-') : name,
    inline: at < 0 ? undefined : arg.slice(at + 1),
  }
}

function unknownOption(name: string, known: ReadonlyMap<string, unknown>): UsageError {
  const long = `-${name}`
  const joined = /^-[a-z]+(?=\d)/i.exec(name)?.[0]
  const hint = known.has(long)
    ? `did you mean ${long}?`
    : joined && known.has(joined)
      ? `did you mean ${joined} ${name.slice(joined.length)}?`
      : seeHelp
  return new UsageError(`unknown option '${name}'`, hint)
}
