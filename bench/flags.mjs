// The flags of programs that measure: a model, and what a program has besides.

import { parseArgs } from 'node:util'

const SHORT = { help: 'h', model: 'm', context: 'c', batch: 'b', ubatch: 'u', threads: 't' }
const flag = (name, rest) => [name, { ...rest, ...(name in SHORT && { short: SHORT[name] }) }]

/**
 * Ends the process behind `help`, or without a flag that has no default. A flag whose default is a number has one; of a
 * boolean it takes none.
 *
 * @param {Record<string, number | string | boolean | undefined>} own the program's flags with their defaults; `model` has none
 */
export function parseFlags(help, own) {
  const defaults = { model: undefined, ...own }
  const { values } = parseArgs({
    options: Object.fromEntries([
      flag('help', { type: 'boolean', default: false }),
      ...Object.entries(defaults).map(([name, value]) => {
        if (typeof value === 'boolean') return flag(name, { type: 'boolean', default: value })
        return flag(name, { type: 'string', ...(value !== undefined && { default: String(value) }) })
      }),
    ]),
  })
  if (values.help || Object.keys(defaults).some((name) => values[name] === undefined)) {
    console.log(help)
    process.exit(values.help ? 0 : 2)
  }
  for (const [name, value] of Object.entries(defaults)) {
    if (typeof value === 'number') values[name] = Number(values[name])
  }
  return values
}

/** As `h2o.decode` takes it. */
export const keysOf = (text) => (text === 'auto' ? text : Number(text))
