/** Options as a caller gives them: every name must be known, and what comes out is a copy of our own. */

import { closestMatch } from 'leven'
import { invalidArgument } from './errors.js'
import { isRecord } from './validate.js'

/** The names of an options type: all of them and no other, or it does not compile. */
export function namesOf<T>(names: { [name in keyof Required<T>]: true }): readonly (keyof T & string)[] {
  return Object.keys(names) as (keyof T & string)[]
}

/**
 * A copy of the options, each read once: what the caller does to theirs later changes nothing. Undefined is as good as
 * not given. Throws ERR_H2O_INVALID_ARGUMENT for what is no object and for a name that is not known.
 *
 * @param what the call that takes them, for the message
 */
export function readOptions<T extends object>(
  what: string,
  given: T | undefined,
  names: readonly (keyof T & string)[],
): T {
  if (given === undefined) return {} as T
  if (!isRecord(given)) {
    const hint = (given as unknown) instanceof Promise ? ', not a promise: await it' : ''
    throw invalidArgument(`${what} takes an object of options${hint}`, { [what]: given })
  }
  for (const name of Object.keys(given)) {
    if (!(names as readonly string[]).includes(name)) throw unknownOption(what, name, names)
  }
  const own: Partial<T> = {}
  for (const name of names) {
    const value = given[name]
    if (value !== undefined) own[name] = value
  }
  return own as T
}

function unknownOption(what: string, name: string, names: readonly string[]): Error {
  const near = nearest(name, names)
  const hint = near === undefined ? `only ${names.join(', ')}` : `did you mean '${near}'?`
  const message = `${what} has no option '${name}'${near === undefined ? ', ' : ': '}${hint}`
  return invalidArgument(message, { option: name, ...(near !== undefined && { nearest: near }) })
}

/** n_ctx, nctx, n-ctx and nCtxs are near nCtx; what is as far as a third of its letters is near nothing. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const plain = (text: string) => text.replace(/[^a-z0-9]/gi, '').toLowerCase()
  const target = plain(name)
  const found = closestMatch(target, names.map(plain), { maxDistance: Math.floor(target.length / 3) })
  return names.find((known) => plain(known) === found)
}
