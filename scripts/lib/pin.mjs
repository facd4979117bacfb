// The pin: vendor/llama.cpp.json, which upstream we build on and which part of it we take.

import { readFileSync } from 'node:fs'
import { Failure } from './fail.mjs'

// biome-ignore format: two words a line read worse
const FIELDS = [
  'npm.package', 'npm.version', 'npm.integrity', 'npm.bundle',
  'upstream.tag', 'upstream.commit', 'upstream.tree', 'upstream.date',
  'subset.tree',
]

export function readPin(file) {
  const pin = JSON.parse(readFileSync(file, 'utf8'))
  for (const field of FIELDS) {
    const value = field.split('.').reduce((at, key) => at?.[key], pin)
    if (typeof value !== 'string') throw new Failure(`${file}: "${field}" is missing or not a string.`)
  }
  for (const field of ['include', 'exclude']) {
    if (!Array.isArray(pin.subset[field]))
      throw new Failure(`${file}: "subset.${field}" must be a list of paths.`)
  }
  return pin
}

/** Whether the subset takes `path`: of all listed prefixes the longest decides; what none names stays out. */
export function inSubset(subset, path) {
  const longest = (prefixes) =>
    Math.max(-1, ...prefixes.filter((p) => path === p || path.startsWith(`${p}/`)).map((p) => p.length))
  return longest(subset.include) > longest(subset.exclude)
}
