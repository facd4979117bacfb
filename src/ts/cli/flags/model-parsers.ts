// Values of the flags about models and devices, in llama.cpp's notation.
import { InvalidArgumentError } from 'commander'
import type { KvOverride, LoraOptions, TensorOverride } from '../../index.js'
import { integer, item, number, type Parser } from './parsers.js'

/** Fields between commas; one in double quotes may hold a comma, and "" for a quote. */
function fields(text: string): string[] {
  const found = [...text.matchAll(/(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/g)]
  // the match behind the last field is empty
  const upTo = found.findIndex(([, , , end]) => end === '')
  return found.slice(0, upTo + 1).map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
}

const bad = (message: string) => new InvalidArgumentError(message)

export const rpcServers: Parser<string[]> = (text) => text.split(',').map(item(rpcServer))

const rpcServer: Parser<string> = (server) => {
  if (!/^[^\s:]+:\d+$/.test(server)) throw bad('Servers are expected, as host:port.')
  return server
}

/** `none`, or names. */
export const devices: Parser<string[]> = (text) => {
  const names = text.split(',')
  if (names.includes('')) throw bad('Names of devices are expected, as --list-devices has them, or none.')
  return text === 'none' ? [] : names
}

export const shares: Parser<number[]> = (text) => text.split(/[,/]+/).map(item(number(0, 1e9)))

/** PATTERN=BUFFER,... */
export const tensorOverrides: Parser<TensorOverride[]> = (text) => text.split(',').map(item(tensorOverride))

const tensorOverride: Parser<TensorOverride> = (text) => {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1) throw bad('PATTERN=BUFFER is expected.')
  return { pattern: text.slice(0, at), buffer: text.slice(at + 1) }
}

export const loras: Parser<LoraOptions[]> = (text) => fields(text).map((path) => ({ path: given(path) }))

/** FILE:SCALE,... */
export const scaledLoras: Parser<LoraOptions[]> = (text) => fields(text).map(item(scaledLora))

const scaledLora: Parser<LoraOptions> = (text) => {
  const at = text.lastIndexOf(':')
  if (at < 1) throw bad('FILE:SCALE is expected.')
  return { path: text.slice(0, at), scale: number(-1e6, 1e6)(text.slice(at + 1)) }
}

function given(path: string): string {
  if (path === '') throw bad('A file is expected.')
  return path
}

/** KEY=TYPE:VALUE,... */
export const kvOverrides: Parser<KvOverride[]> = (text) => fields(text).map(item(kvOverride))

function kvOverride(text: string): KvOverride {
  const [, key = '', type, value = ''] = /^([^=]+)=(int|float|bool|str):(.*)$/s.exec(text) ?? []
  switch (type) {
    case 'int':
      return { key, type, value: integer(-(2 ** 31), 2 ** 32 - 1)(value) }
    case 'float':
      return { key, type, value: number(-3e38, 3e38)(value) }
    case 'bool':
      if (value !== 'true' && value !== 'false') throw bad('true or false is expected.')
      return { key, type, value: value === 'true' }
    case 'str':
      return { key, type, value }
    default:
      throw bad('KEY=TYPE:VALUE is expected, with a type of int, float, bool or str.')
  }
}
