// Grammars and JSON schemas that somebody made to take all time, memory or stack. A recipe names their shapes and
// sizes.

import { makeModel, writeGguf } from '../../../dist/model-maker/index.js'

const times = (n, one) => Array.from({ length: n }, (_, i) => one(i))
const members = (n, one) => Object.fromEntries(times(n, one))
const around = (n, inner, one) => times(n, () => one).reduce((result, wrap) => wrap(result), inner)
const all = (properties) => ({ type: 'object', required: Object.keys(properties), properties })
const letters = (n) => 'a'.repeat(n)
const refTo = (prefix, i) => ({ $ref: `#/$defs/${prefix}${i}` })

/** Each takes the name of its definitions and two sizes from 1 on; gives a schema, and those as `$defs`. */
const SCHEMAS = {
  types: (_, a, b) => around(a % 250, {}, (items) => ({ type: times(1 + (b % 9), () => 'array'), items })),
  typesUnlike: (_, a) => around(a % 250, {}, (one) => ({ type: ['object', 'string', 'null'], allOf: [one] })),
  typesLong: (_, a, b) => ({ type: times(a, () => 'null'), title: letters(b) }),
  optional: (_, a, b) => ({ properties: members(a, (i) => [`p${i}${letters(b % 50)}`, {}]) }),
  optionalMore: (_, a) => ({ properties: members(a, (i) => [`p${i}`, {}]), additionalProperties: true }),
  alike: (_, a) => all(members(a, (i) => [String.fromCodePoint(0x4e00 + (i % 20000)), { const: i }])),
  patterns: (_, a, b) =>
    all(members(a, (i) => [`p${i}`, { type: 'string', pattern: `^${letters(b % 90)}$` }])),
  repeats: (_, a, b) => ({ type: 'string', pattern: `^(${'a*'.repeat(a)}){${b},}$` }),
  classes: (_, a) => ({
    type: 'string',
    pattern: `^[${times(a, (i) => String.fromCodePoint(0x4e00 + (i % 20000))).join('')}]+$`,
  }),
  longName: (_, a, b) => all({ [letters(a)]: all(members(b, (i) => [`p${i}`, {}])) }),
  signs: (_, a) => ({ properties: { ['!'.repeat(a)]: {} }, additionalProperties: { type: 'null' } }),
  enumeration: (_, a, b) => ({ enum: times(a, (i) => `${letters(b % 30)}${i}`) }),
  strings: (_, a, b) =>
    around(a % 120, {}, (one) => ({ items: one, minItems: b % 40, maxItems: (b % 40) + (a % 50) })),
  numbers: (_, a, b) => ({ anyOf: times(a, (i) => ({ type: 'integer', minimum: -i, maximum: b * 1e6 })) }),
  self: (d, a) => ({
    ...refTo(d, 0),
    $defs: { [`${d}0`]: { properties: members(1 + (a % 5), (i) => [`x${i}`, { allOf: [refTo(d, 0)] }]) } },
  }),
  doubling: (d, a, b) => ({
    ...refTo(d, 0),
    $defs: members(1 + (a % 5000), (i) => [
      `${d}${i}`,
      { properties: { x: i < a % 5000 ? { allOf: times(1 + (b % 3), () => refTo(d, i + 1)) } : {} } },
    ]),
  }),
  wide: (d, a, b) => ({
    allOf: times(a, () => refTo(d, 0)),
    $defs: { [`${d}0`]: { properties: members(b, (i) => [`p${i}`, {}]) } },
  }),
  chain: (d, a) => ({
    ...refTo(d, 0),
    $defs: members(a, (i) => [`${d}${i}`, i + 1 < a ? refTo(d, i + 1) : { const: 1 }]),
  }),
}

/** Each takes two sizes from 1 on. */
const GRAMMARS = {
  stars: (a, b) => `root ::= ${`${['[a-z]', '.', '" "', '[^!]'][b % 4]}* `.repeat(a)}"!"`,
  alternatives: (a, b) => `root ::= "a" (${times(a, (i) => `"${letters(b % 20)}${i}"`).join(' | ')})`,
  optionals: (a) => `root ::= ${'"a"? '.repeat(a)}"b"`,
  deep: (a, b) => `root ::= ${'('.repeat(a)}"a"${`)${['', '?', ' "b"', '*'][b % 4]}`.repeat(a)}`,
  open: (a) => `root ::= ${'('.repeat(a)}"a"`,
  repeats: (a, b) => `root ::= ${`"${letters(a % 500)}"{${1 + (b % 2000)}} `.repeat(b)}`,
  ranges: (a, b) => `root ::= ${`[a-z]{${a % 99},${(a % 99) + (b % 1900)}} `.repeat(1 + (b % 99))}`,
  names: (a, b) => `root ::= ${letters(a)}\n${letters(a)} ::= ${'"a"? '.repeat(b)}`,
  signs: (a) => `root ::= [${times(a, (i) => String.fromCodePoint(0x4e00 + (i % 20000))).join('')}]*`,
  tokens: (a, b) => `root ::= <[${b % 258}]> (${times(a, (i) => `"b${i}" <[98]>`).join(' | ')})`,
  notTokens: (a) => `root ::= ${'!<[98]>* '.repeat(a)}"!"`,
  rules: (a, b) =>
    [
      'root ::= r0 "z"',
      ...times(a, (i) => `r${i} ::= ${times(1 + (b % 4), (k) => `r${i + 1} "${k}"`).join(' | ')}`),
      `r${a} ::= "a"`,
    ].join('\n'),
  inside: (a) => `root ::= "a" root "b" | ${times(a, (i) => `"${i}"`).join(' | ')}`,
}

const size = (draw, bits) => Math.floor(2 ** (draw.int(0, bits * 8) / 8))

/** Drawn: { schemas: [[name, size, size], ...] } or { grammar: [name, size, size] } */
export function shapes(draw) {
  const shape = (names) => [draw.pick(Object.keys(names)), size(draw, 15), size(draw, 12)]
  if (draw.chance(0.4)) return { grammar: shape(GRAMMARS) }
  return { schemas: draw.list(draw.int(1, 2), () => shape(SCHEMAS)) }
}

export function written({ grammar, schemas }) {
  if (grammar) return { grammar: GRAMMARS[grammar[0]](...grammar.slice(1)) }
  const made = schemas.map(([name, ...sizes], i) => SCHEMAS[name](`d${i}-`, ...sizes))
  const $defs = Object.assign({}, ...made.map((schema) => schema.$defs))
  return { jsonSchema: JSON.stringify({ anyOf: made.map(({ $defs: _, ...schema }) => schema), $defs }) }
}

const LONG = [
  letters(16),
  letters(60),
  `${letters(24)}B`,
  ' '.repeat(32),
  `${' '.repeat(32)}}`,
  '["',
  '{"p0":',
  letters(5000),
]

/** A model that has long tokens, too, which grammars take long for. */
export async function writeLongTokens(path) {
  const model = makeModel({ arch: 'llama', hidden: 64, heads: 4 })
  const { type, value } = model.metadata['tokenizer.ggml.tokens']
  const tokens = {
    type,
    value: value.toSpliced(200, LONG.length, ...LONG.map((text) => text.replaceAll(' ', 'Ġ'))),
  }
  await writeGguf({ ...model, metadata: { ...model.metadata, 'tokenizer.ggml.tokens': tokens } }, path)
}
