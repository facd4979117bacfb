// Flag values: text to value, or a sentence that says what would have been right.
import { InvalidArgumentError } from 'commander'
import { maxDecodeKeys } from '../../types.js'

export type Parser<T> = (text: string) => T

/** For an item of a list, whose error names it. */
export function item<T>(parse: Parser<T>): Parser<T> {
  return (text) => {
    try {
      return parse(text)
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error
      throw new InvalidArgumentError(`'${text}': ${error.message}`)
    }
  }
}

export function integer(min: number, max = 2 ** 31 - 1): Parser<number> {
  return (text) => {
    const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN
    if (Number.isNaN(value)) throw new InvalidArgumentError('Not a whole number.')
    if (value < min) throw new InvalidArgumentError(`Less than ${min}.`)
    if (value > max) throw new InvalidArgumentError(`More than ${max}.`)
    return value
  }
}

export function number(min: number, max: number): Parser<number> {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text)
    if (!Number.isFinite(value)) throw new InvalidArgumentError('Not a number.')
    if (value < min) throw new InvalidArgumentError(`Less than ${min}.`)
    if (value > max) throw new InvalidArgumentError(`More than ${max}.`)
    return value
  }
}

export function oneOf<const T extends string>(...choices: T[]): Parser<T> {
  return (text) => {
    if (!(choices as string[]).includes(text)) {
      throw new InvalidArgumentError(`One of ${choices.join(', ')} is expected.`)
    }
    return text as T
  }
}

// biome-ignore format: a table
const switchWords: Record<string, 'on' | 'off' | 'auto'> = {
  on: 'on', enabled: 'on', true: 'on', 1: 'on',
  off: 'off', disabled: 'off', false: 'off', 0: 'off',
  auto: 'auto', [-1]: 'auto',
}

/** on, off or auto, in every spelling that llama.cpp takes. */
export const onOffAuto: Parser<'on' | 'off' | 'auto'> = (text) => {
  const value = Object.hasOwn(switchWords, text) ? switchWords[text] : undefined
  if (!value) throw new InvalidArgumentError('One of on, off, auto is expected.')
  return value
}

/** Keys that a query head reads in sparse decoding, or `auto`. */
export const decodeKeys: Parser<number | 'auto'> = (text) =>
  text === 'auto' ? text : integer(0, maxDecodeKeys)(text)

/** A count of layers, or `auto` or `all`. */
export const gpuLayers: Parser<number | 'auto' | 'all'> = (text) => {
  if (text === 'auto' || text === 'all') return text
  const value = integer(-2)(text)
  return value === -1 ? 'auto' : value === -2 ? 'all' : value
}
