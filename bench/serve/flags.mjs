// The flags of this folder's programs: a model, batch and chunk, and what a program has besides.

import { parseArgs } from 'node:util'

const SHORT = { help: 'h', model: 'm', context: 'c', batch: 'b', ubatch: 'u', threads: 't' }
const flag = (name, rest) => [name, { ...rest, ...(name in SHORT && { short: SHORT[name] }) }]

/**
 * Ends the process behind `help`, or without a model. A flag whose default is a number has one; of a boolean it takes none.
 *
 * @param {Record<string, number | string | boolean>} own a program's further flags, with their defaults
 */
export function parseFlags(help, own) {
  const defaults = { batch: 2048, ubatch: 512, ...own }
  const { values } = parseArgs({
    options: Object.fromEntries([
      flag('help', { type: 'boolean', default: false }),
      flag('model', { type: 'string' }),
      ...Object.entries(defaults).map(([name, value]) =>
        typeof value === 'boolean'
          ? flag(name, { type: 'boolean', default: value })
          : flag(name, { type: 'string', default: String(value) }),
      ),
    ]),
  })
  if (values.help || values.model === undefined) {
    console.log(help)
    process.exit(values.help ? 0 : 2)
  }
  for (const [name, value] of Object.entries(defaults)) {
    if (typeof value === 'number') values[name] = Number(values[name])
  }
  return values
}
