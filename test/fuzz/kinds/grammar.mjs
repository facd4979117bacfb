// Grammars, JSON schemas and the options of samplers, drawn from their parts. What is generated fits, or there is a
// code. Some are made to take all there is, and some are ended early: neither is waited for.

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadModel } from '../../../dist/index.js'
import { tinyContext } from '../tiny.mjs'
import { codeOf, promise } from '../use-model.mjs'
import { shapes, writeLongTokens, written } from './hostile-grammar.mjs'

const KEYWORDS = (
  'type type properties items prefixItems anyOf oneOf allOf enum const $ref required additionalProperties minimum ' +
  'maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems pattern format $defs'
).split(' ')
const TYPES = ['object', 'array', 'string', 'integer', 'integer', 'number', 'boolean', 'null', 'thing', [], 7]
const NUMBERS = [
  0,
  1,
  -1,
  9,
  10,
  99,
  -100,
  1.5,
  2000,
  2001,
  1e9,
  -9e15,
  123456789012345,
  2 ** 63,
  -(2 ** 63),
  1e300,
]
const REFS = ['#/$defs/a', '#/$defs/b', '#/properties/a', '#', '#/anyOf/0', '#/$defs', 7]
const REGEX = '^ $ ( ) [ ] a \\d * + ? {2,1} {3} | . \\ (?: [^a-z] \\w {1000}'.split(' ')
const GBNF =
  '"x" "y" [a-z] [^a] . a b c root ( ) | | * + ? {2} {0,3} {3,1} {2,} <[97]> !<[98]> <|x|> "" [] \\x # "\\u00e9" "😀"'.split(
    ' ',
  )

export function schemaOf(draw, depth) {
  const sub = () => (depth > 0 ? schemaOf(draw, depth - 1) : {})
  const subs = () => draw.list(draw.int(1, 2), sub)
  const values = {
    type: () => draw.pick([...TYPES, draw.list(2, () => draw.pick(TYPES))]),
    properties: () =>
      Object.fromEntries(draw.list(draw.int(0, 3), () => [draw.pick(['a', 'b', 'é"', '']), sub()])),
    items: () => (draw.chance(0.7) ? sub() : subs()),
    prefixItems: subs,
    anyOf: subs,
    oneOf: subs,
    allOf: subs,
    enum: () => draw.list(draw.int(0, 3), () => draw.pick([1, 'a', null, { b: [] }])),
    const: () => draw.pick([1, 'x', null, {}]),
    $ref: () => draw.pick(REFS),
    required: () => draw.pick([['a'], ['a', 'b'], [1], 7]),
    additionalProperties: () => draw.pick([true, false, 7, sub()]),
    pattern: () => draw.list(draw.int(1, 12), () => draw.pick(REGEX)).join(''),
    format: () => draw.pick(['date', 'time', 'date-time', 'uuid', 'thing', 7]),
    $defs: () => ({ a: sub(), b: sub() }),
  }
  const keys = draw.list(draw.int(1, 4), () => draw.pick(KEYWORDS))
  return Object.fromEntries(keys.map((key) => [key, values[key]?.() ?? draw.pick(NUMBERS)]))
}

function grammarOf(draw) {
  const rule = (name) => `${name} ::= ${draw.list(draw.int(1, 10), () => draw.pick(GBNF)).join(' ')}`
  return draw.list(draw.int(1, 5), (i) => rule(i === 0 ? 'root' : draw.pick(['a', 'b', 'c']))).join('\n')
}

const SAMPLERS = 'penalties dry top_n_sigma top_k typ_p top_p min_p xtc temperature infill adaptive_p'.split(
  ' ',
)

/** Options that are checked one by one, and not for what they do together. */
export function samplersOf(draw) {
  const share = () => draw.pick([0, 1e-9, 0.1, 0.5, 0.999, 1])
  const size = () => draw.pick([0, 1e-6, 0.5, 1, 3, 1000, 1e6])
  return {
    temperature: size(),
    topP: share(),
    minP: share(),
    ...(draw.chance(0.5) && { samplers: draw.list(draw.int(0, 6), () => draw.pick(SAMPLERS)) }),
    ...(draw.chance(0.3) && {
      repeatPenalty: Math.max(size(), 1e-6),
      frequencyPenalty: -size(),
      repeatLastN: 1e9,
    }),
    ...(draw.chance(0.3) && {
      dryMultiplier: size(),
      dryBase: 1 + size() / 2,
      dryAllowedLength: draw.int(0, 3),
    }),
    ...(draw.chance(0.3) && {
      typicalP: share(),
      topNSigma: size(),
      xtcProbability: share(),
      xtcThreshold: share(),
    }),
    ...(draw.chance(0.3) && {
      dynatempRange: size(),
      dynatempExponent: size(),
      topK: draw.pick([0, 1, 200]),
    }),
    ...(draw.chance(0.2) && { mirostat: draw.int(1, 2), mirostatTau: size(), mirostatEta: size() }),
    ...(draw.chance(0.2) && { logitBias: { [draw.int(0, 257)]: draw.pick([false, -1e6, 1e6]) } }),
    ...(draw.chance(0.3) && { logprobs: draw.int(0, 3), ignoreEos: true }),
  }
}

/** How long an abort may take to end a call, on a machine that others use, too. */
const ABORT_MS = 3000

export function recipe(draw, seed) {
  if (draw.chance(0.25)) {
    const options = { nPredict: draw.int(1, 2), seed, temperature: draw.pick([0, 5]), topK: 0, minP: 0 }
    return {
      kind: 'grammar',
      options,
      hostile: shapes(draw),
      ...(draw.chance(0.3) && { abort: draw.int(0, 1500) }),
    }
  }
  const constraint = draw.weighted([
    [3, () => ({ grammar: grammarOf(draw) })],
    [3, () => ({ jsonSchema: JSON.stringify(schemaOf(draw, 3)) })],
    [1, () => ({})],
  ])()
  return { kind: 'grammar', options: { nPredict: draw.int(1, 24), seed, ...samplersOf(draw), ...constraint } }
}

let context
let longContext

async function withLongTokens() {
  const path = join(tmpdir(), `h2o-fuzz-long-${process.pid}.gguf`)
  await writeLongTokens(path)
  return tinyContext({ model: await loadModel(path) })
}

async function runHostile({ options, hostile, abort }) {
  longContext ??= await withLongTokens()
  const controller = new AbortController()
  let aborted = Number.POSITIVE_INFINITY
  const timer =
    abort === undefined
      ? undefined
      : setTimeout(() => {
          aborted = performance.now()
          controller.abort(new Error('enough'))
        }, abort)
  const { signal } = controller
  try {
    for await (const _ of longContext.generate('Say:', { ...options, ...written(hostile), signal }));
    return 'said'
  } catch (error) {
    if (error !== signal.reason) return codeOf(error)
    const ms = performance.now() - aborted
    promise(ms < ABORT_MS, `an abort took ${Math.round(ms)} ms`)
    return 'aborted'
  } finally {
    clearTimeout(timer)
  }
}

export async function run({ options, hostile, abort }) {
  if (hostile) return runHostile({ options, hostile, abort })
  context ??= await tinyContext()
  const generation = context.generate('Say what you like, say what you like:', options)
  try {
    for (;;) {
      const { done, value } = await generation.next()
      if (done) return value.stop
      promise(Number.isInteger(value.token), `a token that is none: ${value.token}`)
      promise(options.logprobs === undefined || value.logprob <= 0, `a log-probability of ${value.logprob}`)
    }
  } catch (error) {
    return codeOf(error)
  }
}
