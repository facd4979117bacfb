// A number on a command line.

import { Failure } from './fail.mjs'

/** @param {string} flag what it is the value of  @param {number} least the smallest that makes sense */
export function count(flag, text, least) {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least)
    throw new Failure(`${flag} ${text} is no whole number from ${least} on.`)
  return value
}
