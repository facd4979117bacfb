/** Calls of tools: asked for by a template, kept to by a grammar, and read from an answer. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AssistantMessage, Chat, ChatOptions, Context, GenerateOptions } from '../../../src/ts/index.js'
import { collect } from '../../ts/support.js'
import { marks, toolContext, toolTemplate, weather } from './tool-template.js'

let context: Context
beforeAll(async () => {
  context = await toolContext()
})
afterAll(() => context.dispose())

const messages = [{ role: 'user', content: 'How is it in Rome?' }]
const tools = [weather]
const other = { type: 'function', function: { name: 'clock' } }
const apply = (options: ChatOptions = {}) => context.model.applyChatTemplate(messages, options)

async function answered(chat: Chat, options: GenerateOptions = {}) {
  const greedy = { chat, nPredict: 80, temperature: 0, logitBias: marks, ...options }
  const { summary } = await collect(context.generate(chat.prompt, greedy))
  return { ...summary, message: chat.parse(summary.text, { partial: summary.stop === 'length' }) }
}

const call = expect.objectContaining({
  id: expect.stringMatching(/^call_\w{24}$/),
  type: 'function',
  function: {
    name: 'weather',
    arguments: expect.toSatisfy((text: string) => ['Paris', 'Rome'].includes(JSON.parse(text).city)),
  },
})

describe('an answer that is generated', () => {
  it.each<[string, ChatOptions]>([
    ['auto, once the model begins a call', {}],
    ['required', { toolChoice: 'required' }],
    [
      'one function',
      { tools: [other, weather], toolChoice: { type: 'function', function: weather.function } },
    ],
    ['auto, by a mark of two tokens', { template: toolTemplate({ open: '~~', close: '~~' }) }],
  ])('keeps to the tools: %s', async (_, options) => {
    const { message } = await answered(apply({ tools, ...options }))
    const [first, ...further] = message.tool_calls ?? []
    expect(first).toEqual(call)
    for (const { function: called } of further) expect(called.name).toBe('weather')
    expect(message.content).toBe(null)
  })

  it('is free before a call, and without tools', async () => {
    const text = async (options: ChatOptions, generate?: GenerateOptions) =>
      (await answered(apply(options), { nPredict: 20, ...generate })).message
    const free = { logitBias: { '126': -100 } }
    const none = await text({ tools, toolChoice: 'none' }, free)
    expect(none).toMatchObject({ content: expect.stringMatching(/^[^~]+$/) })
    expect(none).toEqual(await text({}, free))
    expect((await text({ tools }, free)).tool_calls).toBeUndefined()
    expect(await text({ tools, toolChoice: 'none' })).toMatchObject({ content: '~'.repeat(20) })
  })

  it('does not take what the model thinks for a call', async () => {
    const template = toolTemplate({ begin: '<think>' })
    const { message } = await answered(apply({ template, tools }), { nPredict: 20 })
    expect(message).toEqual({ role: 'assistant', content: '', reasoning_content: '~'.repeat(20) })
  })

  it('keeps to a schema or a grammar of the chat', async () => {
    const schema = await answered(apply({ jsonSchema: { const: 5 } }), {
      logitBias: { ...marks, '60': -100 },
    })
    expect(schema.message.content).toBe('5')
    const grammar = await answered(apply({ grammar: 'root ::= "yes"' }), { logitBias: {} })
    expect(grammar.message.content).toBe('yes')
  })
})

const text = 'Let me see.~{"name": "weather", "arguments": {"city": "Rome"}}~'
const parsed = (chat: Chat, given: string, partial = false) => chat.parse(given, { partial })

describe('the text of an answer', () => {
  it('is a message that goes back into the chat', () => {
    const message: AssistantMessage = parsed(apply({ tools }), text)
    expect(message).toEqual({ role: 'assistant', content: 'Let me see.', tool_calls: [call] })
    const id = message.tool_calls?.[0]?.id
    const next = [...messages, message, { role: 'tool', tool_call_id: id, content: '31 degrees' }]
    expect(context.model.formatChat(next, { tools })).toContain(
      `[assistant]${text.replace('"Rome"}', '"Rome"}')}\n[tool]31 degrees\n[assistant]`,
    )
  })

  it('has its thoughts apart', () => {
    const thought = '<think>Hm.</think>Yes.'
    expect(parsed(apply(), thought)).toMatchObject({ content: 'Yes.', reasoning_content: 'Hm.' })
    expect(parsed(apply({ reasoningFormat: 'none' }), thought)).toEqual({
      role: 'assistant',
      content: thought,
    })
  })

  it('adds up from deltas, wherever it is cut', () => {
    for (let size = 1; size < 9; size++) {
      const answer = apply({ tools }).answer()
      let content = ''
      let json = ''
      let id: string | undefined
      for (let n = size; n < text.length + size; n += size) {
        for (const delta of answer.read(text.slice(0, n), true).deltas) {
          content += delta.content ?? ''
          json += delta.tool_calls?.[0]?.function.arguments ?? ''
          id ??= delta.tool_calls?.[0]?.id
        }
      }
      const { message, deltas } = answer.read(text, false)
      expect(deltas).toEqual([])
      expect({ content, json, id }).toEqual({
        content: message.content,
        json: message.tool_calls?.[0]?.function.arguments,
        id: message.tool_calls?.[0]?.id,
      })
    }
  })

  it('may be nested as deep as it likes', () => {
    const deep = `~{"name": "weather", "arguments": {"city": ${'['.repeat(200_000)}`
    expect(parsed(apply({ tools }), deep, true).tool_calls?.[0]?.function.name).toBe('weather')
  })

  it('may be as deep where it goes on', () => {
    const begun = `~{"name": "weather", "arguments": {"city": ${'['.repeat(200_000)}`
    const chat = context.model.applyChatTemplate([...messages, { role: 'assistant', content: begun }], {
      tools,
      continueFinalMessage: true,
    })
    expect(parsed(chat, '[', true).tool_calls?.[0]?.function.name).toBe('weather')
  })

  it('is read off the main thread, too', async () => {
    const answer = apply({ tools }).answer()
    const deep = `~{"name": "weather", "arguments": {"city": ${'['.repeat(100_000)}`
    let turns = 0
    const counter = setInterval(() => turns++, 1)
    const [read] = await Promise.all([answer.readAsync(deep, true), answer.readAsync(deep, true)])
    clearInterval(counter)
    expect(read.message.tool_calls?.[0]?.function.name).toBe('weather')
    expect(turns).toBeGreaterThan(5)
    expect(answer.read(deep, true).deltas).toEqual([])
  })

  it('is refused where it is not in the format', async () => {
    const error = expect.objectContaining({ code: 'ERR_H2O_CHAT_ANSWER' })
    expect(() => parsed(apply({ tools }), '~{"nam": 5}~')).toThrow(error)
    await expect(apply({ tools }).answer().readAsync('~{"nam": 5}~', false)).rejects.toEqual(error)
  })
})

describe('refused', () => {
  const node = { type: 'object', properties: { next: { allOf: [{ $ref: '#/$defs/node' }] } } }
  const endless = { $defs: { node }, $ref: '#/$defs/node' }
  const wide = (n: number) => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: n }, (_, i) => [`optional${i}`, { type: 'string' }])),
  })
  const deep = `${'['.repeat(300)}${']'.repeat(300)}`
  const withParameters = (parameters: unknown) => ({
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
  })
  it.each<[string, object, string]>([
    ['a tool that is none', { tools: [{ name: 'weather' }] }, 'ERR_H2O_INVALID_ARGUMENT'],
    ['tools that are none', { tools: 'weather' }, 'ERR_H2O_INVALID_ARGUMENT'],
    ['a tool without a function', { tools: [{ type: 'function' }] }, 'ERR_H2O_INVALID_ARGUMENT'],
    [
      'a function without a name',
      { tools: [{ type: 'function', function: {} }] },
      'ERR_H2O_INVALID_ARGUMENT',
    ],
    ['parameters that are none', withParameters({ type: 'wrong' }), 'ERR_H2O_INVALID_ARGUMENT'],
    [
      'parameters in a circle',
      withParameters({ $defs: { a: { $ref: '#/$defs/a' } }, allOf: [{ $ref: '#/$defs/a' }] }),
      'ERR_H2O_INVALID_ARGUMENT',
    ],
    ['parameters too deep', withParameters({ enum: [JSON.parse(deep)] }), 'ERR_H2O_INVALID_ARGUMENT'],
    ['parameters that lead back to themselves in allOf', withParameters(endless), 'ERR_H2O_INVALID_ARGUMENT'],
    ['parameters that take too long', withParameters(wide(3000)), 'ERR_H2O_INVALID_ARGUMENT'],
    ['an object of too many members', withParameters(wide(20_000)), 'ERR_H2O_INVALID_ARGUMENT'],
    ['a choice that is none', { tools, toolChoice: 'any' }, 'ERR_H2O_INVALID_ARGUMENT'],
    [
      'a function that is not there',
      { tools, toolChoice: { type: 'function', function: { name: 'clock' } } },
      'ERR_H2O_INVALID_ARGUMENT',
    ],
    ['a call of no tools', { toolChoice: 'required' }, 'ERR_H2O_INVALID_ARGUMENT'],
    ['tools and a grammar', { tools, grammar: 'root ::= "a"' }, 'ERR_H2O_INVALID_ARGUMENT'],
  ])('%s', (_, options, code) => {
    expect(() => apply(options)).toThrow(expect.objectContaining({ code }))
  })

  it('one of many, in a few words', () => {
    const nested = JSON.parse(`${'['.repeat(200)}${Array(100_000).fill(0)}${']'.repeat(200)}`)
    const good = { type: 'function', function: { name: 'f', x: nested } }
    expect(() => apply({ tools: [good, {}] as never })).toThrow(
      /^tools\[1\] is not \{ type: 'function', function \}$/,
    )
    const bad = { role: 'user', content: [{ type: 'a'.repeat(1000) }] }
    expect(() => context.model.formatChat([bad as never])).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{1,600}$/) }),
    )
  })

  it('arguments of a call that are too deep', () => {
    const tool_calls = [{ id: '1', type: 'function', function: { name: 'f', arguments: deep } }]
    const chat = () => context.model.formatChat([...messages, { role: 'assistant', tool_calls }])
    expect(chat).toThrow(expect.objectContaining({ code: 'ERR_H2O_INVALID_ARGUMENT' }))
  })

  it.each<[string, object]>([
    ['a chat that is none', { chat: {} }],
    ['a grammar beside a chat', { chat: undefined, grammar: 'root ::= "a"' }],
  ])('%s', async (_, options) => {
    const given = 'grammar' in options ? { ...options, chat: apply({ tools }) } : options
    await expect(context.generate('a', given as GenerateOptions).next()).rejects.toMatchObject({
      code: 'ERR_H2O_INVALID_ARGUMENT',
    })
  })
})
