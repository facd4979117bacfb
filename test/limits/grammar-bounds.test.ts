/**
 * Grammars and schemas that would take all time, memory or stack are refused, and an abort ends work on any at once.
 */

import { describe, expect, it } from 'vitest'
import type { Context, GenerateOptions, JsonSchema } from '../../src/ts/index.js'
import { makeModel, writeGguf } from '../../src/ts/model-maker/index.js'
import { collect, scratch, tinyContext } from '../ts/support.js'

const wild = { nPredict: 8, temperature: 2, topK: 0, topP: 1, minP: 0, seed: 1 }

const say = async (context: Context, options: GenerateOptions) =>
  (await collect(context.generate('Say:', { ...wild, ...options }))).summary

const times = <T>(n: number, one: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => one(i))
const members = (n: number, one: (i: number) => [string, unknown]) => Object.fromEntries(times(n, one))
const nested = (n: number, around: (inner: object) => object) =>
  times(n, () => around).reduce<object>((inner, one) => one(inner), { const: 1 }) as Record<string, unknown>
const required = (properties: object) => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
})

/** Each `a` holds the next one twice. */
const doubling = (n: number) => ({
  $ref: '#/$defs/a0',
  $defs: members(n, (i) => {
    const next = { $ref: `#/$defs/a${i + 1}` }
    return [`a${i}`, { type: 'object', properties: { x: i + 1 < n ? { allOf: [next, next] } : {} } }]
  }),
})

const patterns = (n: number) => required(members(n, (i) => [`p${i}`, { type: 'string', pattern: '^a$' }]))

describe('a schema', () => {
  it.each<[string, JsonSchema]>([
    [
      'of what leads back to itself in allOf',
      {
        $ref: '#/$defs/node',
        $defs: { node: { type: 'object', properties: { next: { allOf: [{ $ref: '#/$defs/node' }] } } } },
      },
    ],
    ['of lists of types in each other', nested(10, (items) => ({ type: times(7, () => 'array'), items }))],
    ['of two types in each other', nested(100, (one) => ({ type: ['object', 'string'], allOf: [one] }))],
    ['of a long list of types', { type: times(20000, () => 'null'), title: 'x'.repeat(400000) }],
    ['of allOf that doubles', doubling(40)],
    [
      'of many references to many properties',
      {
        allOf: times(10000, () => ({ $ref: '#/$defs/a' })),
        $defs: { a: { properties: members(8000, (i) => [`p${i}`, {}]) } },
      },
    ],
    ['of 10000 optional properties', { properties: members(10000, (i) => [`p${i}`, {}]) }],
    ['of 50000 properties', required(members(50000, (i) => [`p${i}`, {}]))],
    [
      'of 9000 names that are alike but for signs',
      required(members(9000, (i) => [String.fromCodePoint(0x4e00 + i), { const: i }])),
    ],
    ['of 20000 patterns', { anyOf: [patterns(9999), patterns(9998)] }],
    [
      'of a long name around many',
      required({ ['a'.repeat(400000)]: required(members(9000, (i) => [`p${i}`, {}])) }),
    ],
    [
      'of a long name beside others',
      { properties: { ['a'.repeat(900000)]: {} }, additionalProperties: true },
    ],
  ])('%s is refused', async (_, jsonSchema) => {
    await using context = await tinyContext()
    await expect(say(context, { jsonSchema })).rejects.toMatchObject({ code: 'ERR_H2O_INVALID_ARGUMENT' })
    expect((await say(context, { grammar: 'root ::= "a"' })).text).toBe('a')
  })

  it.each<[string, JsonSchema, string]>([
    ['a name of 500000 signs', required({ ['!'.repeat(500000)]: {} }), '{"!!!!!!'],
    [
      'a reference of 500000 spaces',
      { anyOf: [{ const: 7 }, { $ref: `#/anyOf/${' '.repeat(500000)}0` }] },
      '7',
    ],
    ['a thousand optional properties', { properties: members(1000, (i) => [`p${i}`, {}]) }, '{'],
  ])('of %s is not', async (_, jsonSchema, begin) => {
    await using context = await tinyContext()
    const logitBias = { 32: false, 10: false } as const
    expect((await say(context, { jsonSchema, logitBias })).text).toContain(begin)
  })
})

describe('a grammar', () => {
  it.each<[string, string]>([
    [
      'of a long name with many repetitions',
      `root ::= ${'a'.repeat(1e5)}\n${'a'.repeat(1e5)} ::= ${'"a"? '.repeat(2e4)}`,
    ],
    ['of many repeated texts', `root ::= ${`"${'a'.repeat(490)}"{2000} `.repeat(2000)}`],
  ])('%s is refused', async (_, grammar) => {
    await using context = await tinyContext()
    await expect(say(context, { grammar })).rejects.toMatchObject({ code: 'ERR_H2O_INVALID_ARGUMENT' })
  })

  // "aaa...aB" may be divided among the repetitions in more ways than could ever be tried, and fits none of them
  const inManyWays = { grammar: `root ::= ${'[a-z]* '.repeat(40)}"!"`, logitBias: { 200: 1e5 } as const }
  const longToken = () => modelWith(`${'a'.repeat(40)}B`)

  it('that reads a token in very many ways ends, and what was read stays', async () => {
    await using context = await tinyContext({ model: await longToken() })
    await expect(say(context, inManyWays)).rejects.toMatchObject({ code: 'ERR_H2O_SAMPLING' })
    expect(context.position).toBe('Say:'.length)
    expect((await say(context, { grammar: 'root ::= "a"' })).text).toBe('a')
  })

  it('with rules for tokens and very many alternatives ends', async () => {
    await using context = await tinyContext()
    const grammar = `root ::= <[97]> (${times(60000, (i) => `"b${i}"`).join(' | ')})`
    await expect(say(context, { grammar })).rejects.toMatchObject({ code: 'ERR_H2O_SAMPLING' })
  })

  it('finds the token that goes on behind many that do not', async () => {
    // "ea", "eb", ... begin as the grammar does, and go on where only a token may stand
    const tokens = times(20, (i) => `e${String.fromCharCode(97 + i)}`)
    await using context = await tinyContext({ model: await modelWith(...tokens) })
    const logitBias = members(20, (i) => [`${200 + i}`, 1e5]) as Record<string, number>
    const { text } = await say(context, { grammar: 'root ::= "e" !<[120]> "g"', logitBias })
    expect(text).toMatch(/^ee[a-t]g$/)
  })

  it.each<[string, GenerateOptions, () => Promise<string | undefined>]>([
    [
      'the conversion of a schema',
      { jsonSchema: { anyOf: [patterns(9999), patterns(9998)] } },
      async () => undefined,
    ],
    [
      'the reading of a grammar',
      { grammar: `root ::= ${`"${'a'.repeat(490)}"{2000} `.repeat(30)}` },
      async () => undefined,
    ],
    ['a token', inManyWays, longToken],
  ])('an abort ends %s', async (_, options, model) => {
    const path = await model()
    await using context = await tinyContext(path ? { model: path } : {})
    const controller = new AbortController()
    const reason = new Error('enough')
    const said = say(context, { ...options, signal: controller.signal })
    const failed = expect(said).rejects.toBe(reason)
    await new Promise((resolve) => setTimeout(resolve, 100))
    controller.abort(reason)
    await failed // with the reason: left alone, it would end otherwise
    expect((await say(context, { grammar: 'root ::= "a"' })).text).toBe('a')
  })
})

let models = 0

/** A model whose tokens from 200 on are these. */
async function modelWith(...tokens: string[]): Promise<string> {
  const path = scratch(`tokens-${models++}.gguf`)
  const model = makeModel({ arch: 'llama', hidden: 64, heads: 4 })
  const { type, value } = model.metadata['tokenizer.ggml.tokens'] as { type: 'string[]'; value: string[] }
  const metadata = {
    ...model.metadata,
    'tokenizer.ggml.tokens': { type, value: value.toSpliced(200, tokens.length, ...tokens) },
  }
  await writeGguf({ ...model, metadata }, path)
  return path
}
