/** Checks of single values. Native code asserts, and an assertion ends the process: nothing unchecked goes there. */

import { inspect } from 'node:util'
import { H2oError, invalidArgument } from './errors.js'

const maxCount = 2 ** 31 - 1

/** What came, as an error's message ends: `, not 0`. Objects may be anything, and are not looked into. */
export function not(value: unknown): string {
  const isObject = typeof value === 'function' || (typeof value === 'object' && value !== null)
  return `, not ${isObject ? `of type ${typeof value}` : inspect(value, { maxStringLength: 80 })}`
}

/** An object with names. A list, a Map, a URL, a promise is none: what it holds would not be seen. */
export function isRecord(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return !(Symbol.iterator in value || value instanceof URL || value instanceof Promise)
}

/** An integer option within bounds, or its default when it was not given. */
export function integer(name: string, value: unknown, otherwise: number, min: number, max: number): number {
  return value === undefined ? otherwise : count(name, value, min, max)
}

/** An integer within bounds that has to be given. */
export function count(name: string, value: unknown, min: number, max: number = maxCount): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw invalidArgument(`${name} must be an integer from ${min} to ${max}${not(value)}`, { [name]: value })
  }
  return value
}

export function number(name: string, value: unknown, otherwise: number, min: number, max: number): number {
  if (value === undefined) return otherwise
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    throw invalidArgument(`${name} must be a number from ${min} to ${max}${not(value)}`, { [name]: value })
  }
  return value
}

export function oneOf<T extends string>(
  name: string,
  value: unknown,
  otherwise: T,
  allowed: readonly T[],
): T {
  if (value === undefined) return otherwise
  if (!allowed.includes(value as T)) {
    throw invalidArgument(`${name} must be one of ${allowed.join(', ')}${not(value)}`, { [name]: value })
  }
  return value as T
}

export function boolean(name: string, value: unknown, otherwise: boolean): boolean {
  if (value === undefined) return otherwise
  if (typeof value !== 'boolean')
    throw invalidArgument(`${name} must be true or false${not(value)}`, { [name]: value })
  return value
}

export function optionalFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') {
    throw invalidArgument(`${name} must be a function${not(value)}`, { [name]: typeof value })
  }
}

export function optionalSignal(value: unknown): void {
  if (value !== undefined && !isSignal(value)) {
    throw invalidArgument(`signal must be an AbortSignal${not(value)}`, { signal: typeof value })
  }
}

/** What has the prototype alone throws where it is asked. */
function isSignal(value: unknown): boolean {
  try {
    return value instanceof AbortSignal && typeof value.aborted === 'boolean'
  } catch {
    return false
  }
}

/** A copy of token ids, each of them in the vocabulary. */
export function tokenIds(
  tokens: ArrayLike<number>,
  nVocab: number,
  form = 'tokens are a list of token ids',
): Int32Array {
  if (
    tokens === null ||
    typeof tokens !== 'object' ||
    !Number.isInteger(tokens.length) ||
    tokens.length < 0
  ) {
    throw invalidArgument(`${form}${not(tokens)}`, { tokens: typeof tokens })
  }
  const ids = allocateIds(tokens.length)
  for (let i = 0; i < ids.length; i++) {
    const token = tokens[i]
    if (!Number.isInteger(token) || (token as number) < 0 || (token as number) >= nVocab) {
      throw new H2oError(
        'ERR_H2O_TOKEN_OUT_OF_RANGE',
        `token ${inspect(token, { depth: 0, customInspect: false })} at index ${i} is not in the vocabulary`,
        {
          details: { token, index: i, nVocab },
        },
      )
    }
    ids[i] = token as number
  }
  return ids
}

function allocateIds(length: number): Int32Array {
  try {
    return new Int32Array(length)
  } catch (cause) {
    throw new H2oError('ERR_H2O_INVALID_ARGUMENT', `${length} tokens do not fit into memory`, {
      details: { tokens: length },
      cause,
    })
  }
}
