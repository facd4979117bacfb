/** Grammars and JSON schemas: what is generated fits them, and no text can take the process with it. */

import { describe, expect, it } from 'vitest'
import type { Context, GenerateOptions, JsonSchema } from '../../../src/ts/index.js'
import { type Metadata, makeModel, string, writeGguf } from '../../../src/ts/model-maker/index.js'
import { collect, scratch, tinyContext, tinyModel } from '../../ts/support.js'

const wild = { nPredict: 400, temperature: 2, topK: 0, topP: 1, minP: 0 }

async function say(context: Context, options: GenerateOptions) {
  return (await collect(context.generate('Say:', { ...wild, ...options }))).summary
}

describe('grammar', () => {
  it('lets nothing else be said, and ends', async () => {
    await using context = await tinyContext()
    const said = new Set<string>()
    for (let seed = 0; seed < 8; seed++) {
      const { text, stop } = await say(context, { seed, grammar: 'root ::= "yes" | "no" | "né😀"' })
      expect(stop).toBe('eos')
      said.add(text)
    }
    for (const text of said) expect(['yes', 'no', 'né😀']).toContain(text)
    expect(said.size).toBeGreaterThan(1)
  })

  it('changes nothing where everything fits', async () => {
    await using context = await tinyContext({ model: await tinyModel({ readable: false }) })
    const options = { ...wild, nPredict: 60, seed: 5, ignoreEos: true }
    const free = await collect(context.generate('Say:', { ...options, logitBias: noHighBytes }))
    const held = await collect(
      context.generate('Say:', { ...options, logitBias: noHighBytes, grammar: 'root ::= [\\x01-\\x7f]*' }),
    )
    expect(held.tokens).toEqual(free.tokens)
  })

  it('is greedy among what fits', async () => {
    await using context = await tinyContext()
    const { logits } = await context.prefill('Say:')
    const [a, b] = ['a', 'b'].map((letter) => (logits as Float32Array)[letter.charCodeAt(0)] as number)
    const { text } = await say(context, { temperature: 0, grammar: 'root ::= "a" | "b"' })
    expect(text).toBe((a as number) > (b as number) ? 'a' : 'b')
  })

  it('ends by itself where the end is not wanted as a token', async () => {
    await using context = await tinyContext()
    const grammar = 'root ::= "abc"'
    expect(await say(context, { grammar, ignoreEos: true })).toMatchObject({
      text: 'abc',
      stop: 'grammar',
      predicted: 3,
    })
    expect(await say(context, { grammar, ignoreEos: true, stop: 'cd' })).toMatchObject({
      text: 'abc',
      stop: 'grammar',
    })
    expect(await say(context, { grammar, stop: 'b' })).toMatchObject({ text: 'a', stop: 'stop' })
    expect(await say(context, { grammar, nPredict: 2 })).toMatchObject({ text: 'ab', stop: 'length' })
  })

  it('takes tokens by id, and says where none of the model fits', async () => {
    await using context = await tinyContext()
    expect(await say(context, { grammar: 'root ::= <[97]> "b"' })).toMatchObject({ text: 'ab', stop: 'eos' })
    await expect(say(context, { grammar: 'root ::= "a" <[99999]>' })).rejects.toMatchObject({
      code: 'ERR_H2O_SAMPLING',
    })
    await expect(say(context, { grammar: 'root ::= "a"', logitBias: { 97: false } })).rejects.toMatchObject({
      code: 'ERR_H2O_SAMPLING',
    })
    expect((await say(context, { grammar: 'root ::= "a"' })).text).toBe('a')
  })

  it('follows rules for tokens behind characters', async () => {
    // "ef" begins as the grammar does, and goes on where only a token may stand
    const path = await modelWith((metadata) => {
      const { type, value } = metadata['tokenizer.ggml.tokens'] as { type: 'string[]'; value: string[] }
      return { ...metadata, 'tokenizer.ggml.tokens': { type, value: value.with(99, 'ef') } }
    })
    await using context = await tinyContext({ model: path })
    const options = { ...wild, logitBias: { 99: 1e5 } }
    const said = await collect(context.generate([65], { ...options, grammar: 'root ::= "e" !<[99]> "g"' }))
    expect(said.tokens).toHaveLength(3)
    expect([said.tokens[0], said.tokens[2]]).toEqual([101, 103])
    expect(said.tokens[1]).not.toBe(99)
  })

  const doubling = (last: string) =>
    [...Array.from({ length: 60 }, (_, i) => `r${i} ::= r${i + 1} | r${i + 1}`), `r60 ::= ${last}`].join('\n')

  it('finds its way where rules lead to each other twice', async () => {
    await using context = await tinyContext()
    expect((await say(context, { grammar: `root ::= r0\n${doubling('"a"')}` })).text).toBe('a')
  })

  it.each<[string, string]>([
    ['an open group', 'root ::= ('],
    ['no rule', 'root'],
    ['no root', 'foo ::= "a"'],
    ['a rule that is not there', 'root ::= bar'],
    ['an unknown escape', 'root ::= "\\q"'],
    ['left recursion', 'root ::= root "a" | "b"'],
    ['left recursion in a circle', 'root ::= a\na ::= b\nb ::= a'],
    ['left recursion behind what may be empty', 'root ::= a root "y" | "z"\na ::= b\nb ::= "x"?'],
    ['a repetition from 5 to 3', 'root ::= "a"{5,3}'],
    ['a repetition that is too long', 'root ::= "a"{3000}'],
    ['repetitions of repetitions', 'root ::= (("a"{0,40}){0,40}){0,40}'],
    ['very many repetitions', `root ::= ${'"a"{0,2000} '.repeat(20000)}`],
    ['long texts repeated', `root ::= ${`"${'a'.repeat(10000)}"{2000} `.repeat(20)}`],
    ['200000 groups in each other', `root ::= ${'('.repeat(200000)}"a"${')'.repeat(200000)}`],
    ['90000 groups in each other', `root ::= ${'('.repeat(90000)}"a"`],
    [
      'very many ways to read it',
      `root ::= r0 "z"\n${[...Array.from({ length: 40 }, (_, i) => `r${i} ::= r${i + 1} "x" | r${i + 1} "y"`), 'r40 ::= "a"'].join('\n')}`,
    ],
    ['a NUL', 'root ::= "a"\0'],
    ['more than a megabyte', `root ::= "a" #${' '.repeat(2 ** 20)}`],
    ['no text', 7 as never],
  ])('refuses %s', async (_, grammar) => {
    await using context = await tinyContext()
    await context.prefill('Before')
    await expect(say(context, { grammar })).rejects.toMatchObject({ code: 'ERR_H2O_INVALID_ARGUMENT' })
    expect(context.position).toBe('Before'.length) // nothing was touched
  })

  it.each([
    ["error parsing grammar: Undefined rule identifier 'bar'", 'root ::= "a" bar'],
    ["error parsing grammar: expecting '}' at ", 'root ::= "a"{1,2'],
    ["grammar does not contain a 'root' symbol", 'x ::= "a"'],
    ['unsupported grammar, left recursion detected for nonterminal at index 0', 'root ::= root "a"'],
    ['failed to parse grammar', ' '],
    ['it is nested too deeply', '('.repeat(200000)],
  ])('says once what is wrong with it: %s', async (reason, grammar) => {
    await using context = await tinyContext()
    const message = `the grammar is refused: ${reason}`
    await expect(say(context, { grammar })).rejects.toMatchObject({ message })
  })

  it('goes through groups in each other', async () => {
    await using context = await tinyContext()
    const { text } = await say(context, { grammar: `root ::= ${'('.repeat(20000)}"a"${')'.repeat(20000)}` })
    expect(text).toBe('a')
  })

  it('reads a token of fifty thousand letters', async () => {
    const long = 'a'.repeat(50000)
    const path = await modelWith((metadata) => {
      const { type, value } = metadata['tokenizer.ggml.tokens'] as { type: 'string[]'; value: string[] }
      return { ...metadata, 'tokenizer.ggml.tokens': { type, value: value.with(99, long) } }
    })
    await using context = await tinyContext({ model: path })
    const options = {
      ...wild,
      nPredict: 2,
      grammar: 'root ::= [a]* "b"',
      logitBias: { 99: 1e5, 97: false } as const,
    }
    const { tokens } = await collect(context.generate([65], options))
    expect(tokens).toEqual([99, 99])
  })

  it('needs a tokenizer', async () => {
    const path = await modelWith((metadata) => ({
      ...Object.fromEntries(Object.entries(metadata).filter(([key]) => !key.startsWith('tokenizer.'))),
      'tokenizer.ggml.model': string('none'),
      'llama.vocab_size': { type: 'u32', value: 258 },
    }))
    await using context = await tinyContext({ model: path })
    for (const options of [{ grammar: 'root ::= "a"' }, { dryMultiplier: 1 }]) {
      await expect(collect(context.generate([65, 66], options))).rejects.toMatchObject({
        code: 'ERR_H2O_INVALID_ARGUMENT',
      })
    }
  })
})

let models = 0

async function modelWith(change: (metadata: Metadata) => Metadata): Promise<string> {
  const path = scratch(`changed-${models++}.gguf`)
  const model = makeModel({ arch: 'llama', hidden: 64, heads: 4 })
  await writeGguf({ ...model, metadata: change(model.metadata) }, path)
  return path
}

const noHighBytes = Object.fromEntries(
  Array.from({ length: 258 }, (_, id) => [id, id > 0 && id < 128 ? 0 : (false as const)]),
)

describe('jsonSchema', () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 8 },
      size: { type: 'integer', minimum: 1, maximum: 99 },
      kind: { enum: ['x', 'y'] },
      list: { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 3 },
    },
    required: ['name', 'size', 'kind', 'list'],
    additionalProperties: false,
  }

  it.each<[string, JsonSchema]>([
    ['an object', schema],
    ['a text', JSON.stringify(schema)],
  ])('as %s gives JSON that fits', async (_, jsonSchema) => {
    await using context = await tinyContext()
    for (let seed = 0; seed < 5; seed++) {
      const { text, stop } = await say(context, { seed, jsonSchema })
      expect(stop).toBe('eos')
      const value = JSON.parse(text)
      expect(Object.keys(value)).toEqual(['name', 'size', 'kind', 'list'])
      expect(value.name.length).toBeLessThanOrEqual(8)
      expect(value.size).toBeGreaterThanOrEqual(1)
      expect(value.size).toBeLessThanOrEqual(99)
      expect(['x', 'y']).toContain(value.kind)
      expect(value.list.every((one: unknown) => typeof one === 'boolean')).toBe(true)
    }
  })

  it('follows references', async () => {
    await using context = await tinyContext()
    const jsonSchema = {
      $ref: '#/$defs/a',
      $defs: { a: { items: { const: 7 }, type: 'array', maxItems: 2, minItems: 2 } },
    }
    expect(JSON.parse((await say(context, { jsonSchema })).text)).toEqual([7, 7])
  })

  const chain = Object.fromEntries(
    Array.from({ length: 5000 }, (_, i) => [
      `a${i}`,
      i < 4999 ? { $ref: `#/$defs/a${i + 1}` } : { const: 1 },
    ]),
  )

  it('knows the root by its name', async () => {
    const tree = (depth: number): object => ({ v: depth, c: depth === 0 ? [] : [tree(depth - 1)] })
    const jsonSchema = {
      type: 'object',
      properties: { v: { const: 1 }, c: { type: 'array', items: { $ref: '#' }, maxItems: 1 } },
      required: ['v', 'c'],
      additionalProperties: false,
    }
    await using context = await tinyContext()
    const said = JSON.parse((await say(context, { jsonSchema, nPredict: 400 })).text)
    const depth = JSON.stringify(said).split('"v"').length - 2
    expect(said).toEqual(JSON.parse(JSON.stringify(tree(depth)).replace(/"v":\d+/g, '"v":1')))
    expect(jsonSchema.properties.c.items).toEqual({ $ref: '#' })
  })

  it('follows 5000 references', async () => {
    await using context = await tinyContext()
    expect((await say(context, { jsonSchema: { $ref: '#/$defs/a0', $defs: chain } })).text).toBe('1')
  })

  it.each<[string, JsonSchema]>([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['no object', 7 as never],
    ['a Map', new Map() as never],
    ['an unknown type', { type: 'thing' }],
    ['a reference to nothing', { $ref: '#/$defs/a' }],
    ['a reference to elsewhere', { $ref: 'https://example.com/a' }],
    ['a reference to itself', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }],
    [
      'a circle of references in allOf',
      { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    ],
    ['the root that is itself', { $ref: '#' }],
    ['an enum without values', { enum: [] }],
    ['too many items', { type: 'array', items: { const: 1 }, minItems: 1e6 }],
    ['a bound of 18 digits', '{"type":"integer","minimum":123456789012345678}'],
    ['a pattern that is none', { type: 'string', pattern: '^(a$' }],
    ['300 levels', JSON.parse(`${'{"items":'.repeat(300)}{}${'}'.repeat(300)}`)],
    ['100000 levels as text', `${'{"items":'.repeat(100000)}{}${'}'.repeat(100000)}`],
    ['what refers to itself', circular()],
  ])('refuses %s', async (_, jsonSchema) => {
    await using context = await tinyContext()
    await expect(say(context, { jsonSchema })).rejects.toMatchObject({ code: 'ERR_H2O_INVALID_ARGUMENT' })
  })

  it('does not go together with a grammar', async () => {
    await using context = await tinyContext()
    await expect(say(context, { jsonSchema: {}, grammar: 'root ::= "a"' })).rejects.toMatchObject({
      code: 'ERR_H2O_INVALID_ARGUMENT',
    })
  })
})

function circular(): Record<string, unknown> {
  const schema: Record<string, unknown> = { type: 'array' }
  schema.items = schema
  return schema
}
