// Chat templates that were written to take all there is: loops, strings and lists that grow, values in each other,
// filters with large arguments. Each ends with a text or a code; an abort ends it at once.

import { tinyContext } from '../tiny.mjs'
import { codeOf, promise } from '../use-model.mjs'

const NAMES = ['a', 'b', 'ns.a', 'ns.b', 'messages', 'messages[0].content']
const NUMBERS = [-1, 0, 1, 2, 3, 7, 40, 1000, 30_000, 10 ** 6, 10 ** 9, 2 ** 31, '9223372036854775807']
const FILTERS = [
  ...'length list first last sort reverse unique tojson string upper title trim min max int float abs'.split(
    ' ',
  ),
  ...'items join dictsort capitalize lower safe default(1) wordcount reject("odd") map(attribute="x")'.split(
    ' ',
  ),
]
const TESTS = [
  'defined',
  'string',
  'none',
  'iterable',
  'mapping',
  'odd',
  'divisibleby(N)',
  'in(E)',
  'eq(E)',
  'lt(E)',
]

function expression(draw, depth) {
  if (depth === 0)
    return draw.pick([...NAMES, ...NUMBERS, '"x"', '"a,b\\n"', '[]', '{}', '(1, 2)', 'none', 'true'])
  const e = () => expression(draw, depth - 1)
  const n = () => draw.pick(NUMBERS)
  return draw.weighted([
    [4, () => `(${e()} ${draw.pick(['+', '~', '*', '-', '/', '%', '==', '<', 'in', 'and', 'or'])} ${e()})`],
    [3, () => `(${e()} | ${draw.pick(FILTERS)})`],
    [2, () => `(${e()} | replace(${e()}, ${e()}))`],
    [1, () => `(${e()} | indent(${n()}))`],
    [1, () => `(${e()} | tojson(indent=${n()}))`],
    [1, () => `(${e()} | join(${e()}))`],
    [2, () => `range(${n()}${draw.chance(0.3) ? `, ${n()}, ${n()}` : ''})`],
    [1, () => `[${e()}, ${e()}]`],
    [1, () => `{"x": ${e()}}`],
    [1, () => `(${e()}, ${e()})`],
    [1, () => `(${e()})[${n()}:${n()}:${n()}]`],
    [1, () => `(${e()}).split(${e()})`],
    [1, () => `(${e()}).strip(${e()})`],
    [1, () => `(${e()}).append(${e()})`],
    [1, () => `m(${e()})`],
    [1, () => `(${e()} is ${draw.pick(TESTS).replace('N', n()).replace('E', e())})`],
  ])()
}

function statement(draw, depth) {
  const e = () => expression(draw, draw.int(0, 2))
  const body = () => draw.list(draw.int(1, 3), () => statement(draw, depth - 1)).join('')
  if (depth === 0) return `{{ ${e()} }}`
  return draw.weighted([
    [4, () => `{% set ${draw.pick(['a', 'b', 'ns.a', 'ns.b'])} = ${e()} %}`],
    [
      3,
      () =>
        `{% set ns.a = ${draw.pick(['ns.a + ns.a', '[ns.a, ns.a]', '(ns.a, ns.b)', 'ns.a ~ ns.b', 'ns'])} %}`,
    ],
    [2, () => `{{ ${e()} }}`],
    [
      4,
      () =>
        `{% for i in ${draw.pick([e(), 'range(60)', `range(${draw.pick(NUMBERS)})`])} %}${body()}{% endfor %}`,
    ],
    [1, () => `{% if ${e()} %}${body()}{% endif %}`],
  ])()
}

export function recipe(draw) {
  const template = [
    '{% set ns = namespace(a="x", b=[1]) %}{% set a = [1, 2] %}{% set b = "abc" %}',
    `{% macro m(x) %}${statement(draw, 1)}${draw.chance(0.2) ? '{{ m(x) }}' : ''}{% endmacro %}`,
    ...draw.list(draw.int(1, 4), () => statement(draw, 2)),
  ].join('')
  return { kind: 'template', template, abortAfter: draw.chance(0.25) ? draw.int(1, 200) : 0 }
}

let context

export async function run({ template, abortAfter }) {
  context ??= await tinyContext()
  const messages = [{ role: 'user', content: 'Hello, you' }]
  const options = { template, ...(abortAfter && { signal: AbortSignal.timeout(abortAfter) }) }
  const began = performance.now()
  try {
    const { prompt } = await context.model.applyChatTemplateAsync(messages, options)
    promise(typeof prompt === 'string', 'a prompt that is no text')
    return 'rendered'
  } catch (error) {
    if (error.name !== 'TimeoutError') return codeOf(error)
    const ms = performance.now() - began - abortAfter
    promise(ms < 3000, `an abort took ${ms} ms`)
    return 'aborted'
  }
}
