/** Tools through OpenAI's own client and the AI SDK: calls whole and streamed, their results, and what is refused. */

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import type OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { marks, toolTemplate, weather } from '../addon/text/tool-template.js'
import { startServer, type TestServer } from './support.js'

let s: TestServer
beforeAll(async () => {
  s = await startServer({ template: toolTemplate(), defaults: { nPredict: 300, temperature: 0 } })
})
afterAll(() => s[Symbol.asyncDispose]())

type Ask = OpenAI.ChatCompletionCreateParamsNonStreaming
type Message = OpenAI.ChatCompletionMessageParam

/** A call, and then the end: the model is made to want to begin another one, and the stop string does not let it. */
const asked = {
  model: 'any',
  messages: [{ role: 'user', content: 'How is it in Rome?' }] as Message[],
  tools: [weather],
  logit_bias: marks,
  stop: ['~~'],
} satisfies Ask
const free = { ...asked, logit_bias: { '126': -100 }, max_tokens: 20 }

const isCity = (text: string) => ['Paris', 'Rome'].includes(JSON.parse(text).city)

describe('the openai client', () => {
  it('gets a call, and sends its result', async () => {
    const { choices } = await s.openai.chat.completions.create(asked)
    expect(choices[0]?.finish_reason).toBe('tool_calls')
    const message = choices[0]?.message as OpenAI.ChatCompletionMessage
    expect(message).toMatchObject({ role: 'assistant', content: null })
    const [call] = message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
    expect(call).toMatchObject({ id: expect.any(String), type: 'function', function: { name: 'weather' } })
    expect(call?.function.arguments).toSatisfy(isCity)

    const result: Message = { role: 'tool', tool_call_id: call?.id ?? '', content: '31 degrees' }
    const next = await s.openai.chat.completions.create({
      ...free,
      messages: [...asked.messages, message, result],
    })
    expect(next.choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { content: expect.any(String) },
    })
    expect(next.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(0)
  })

  it('streams the same', async () => {
    const stream = s.openai.chat.completions.stream(asked)
    const names: string[] = []
    stream.on('tool_calls.function.arguments.delta', ({ name }) => names.push(name))
    const { choices } = await stream.finalChatCompletion()
    expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
    const [call] = choices[0]?.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
    expect(call?.function.arguments).toSatisfy(isCity)
    expect(names.length).toBeGreaterThan(2)
  })

  it.each<[string, Partial<Ask>, boolean]>([
    ['auto', { tool_choice: 'auto' }, true],
    ['required', { tool_choice: 'required' }, true],
    ['a function', { tool_choice: { type: 'function', function: { name: 'weather' } } }, true],
    ['none', { tool_choice: 'none', max_tokens: 9 }, false],
  ])('chooses %s', async (_, body, calls) => {
    const { choices } = await s.openai.chat.completions.create({ ...asked, ...body })
    expect(choices[0]?.message.tool_calls !== undefined).toBe(calls)
  })

  it('gets the thoughts of a model apart', async () => {
    await using thinking = await startServer({
      template: toolTemplate({ begin: '<think>' }),
      defaults: { nPredict: 9, temperature: 0 },
    })
    const body = { ...asked, tools: [], stop: undefined }
    const { choices } = await thinking.openai.chat.completions.create(body as unknown as Ask)
    expect(choices[0]?.message).toMatchObject({ content: '', reasoning_content: '~'.repeat(9) })
    const parts: string[] = []
    for await (const { choices } of await thinking.openai.chat.completions.create({
      ...(body as unknown as Ask),
      stream: true,
    })) {
      parts.push((choices[0]?.delta as { reasoning_content?: string }).reasoning_content ?? '')
    }
    expect(parts.join('')).toBe('~'.repeat(9))
  })

  it('gets what is in no format as text', async () => {
    const defaults = { nPredict: 12, temperature: 0, ignoreEos: true }
    await using other = await startServer({ template: toolTemplate(), defaults })
    const body = { messages: asked.messages, tools: [weather], tool_choice: 'none', logit_bias: marks }
    const answer = (await (await other.post('/v1/chat/completions', body)).json()) as OpenAI.ChatCompletion
    expect(answer.choices[0]?.message.content).toBe('~'.repeat(12))
  })
})

describe('the AI SDK', () => {
  const chatModel = () =>
    createOpenAICompatible({ name: 'h2o', baseURL: `${s.url}/v1`, includeUsage: true })('tiny')
  const schema = jsonSchema<{ city: string }>(weather.function.parameters as never)
  const tools = { weather: tool({ inputSchema: schema, execute: async ({ city }) => `31 in ${city}` }) }
  const providerOptions = { h2o: { logit_bias: marks, stop: ['~~'] } }
  const step = { tools, prompt: 'How is it?', providerOptions, stopWhen: stepCountIs(1) }

  it('calls a tool', async () => {
    const { finishReason, toolCalls, toolResults } = await generateText({ ...step, model: chatModel() })
    expect(finishReason).toBe('tool-calls')
    expect(toolCalls[0]).toMatchObject({ toolName: 'weather', input: { city: expect.any(String) } })
    expect(toolResults[0]?.output).toMatch(/^31 in (Paris|Rome)$/)
  })

  it('calls a tool from a stream, and goes on with its result', async () => {
    const { steps } = streamText({ ...step, model: chatModel(), stopWhen: stepCountIs(2) })
    const [one, two] = await steps
    expect(one?.toolResults[0]?.output).toMatch(/^31 in /)
    expect(two?.usage.inputTokens).toBeGreaterThan(one?.usage.inputTokens ?? 0)
  })
})

it.each<[string, object, string, string | undefined]>([
  [
    'a function that is not there',
    { tool_choice: { type: 'function', function: { name: 'x' } } },
    'ERR_H2O_INVALID_ARGUMENT',
    undefined,
  ],
  ['a choice that is none', { tool_choice: 'any' }, 'ERR_H2O_INVALID_ARGUMENT', undefined],
  ['a tool that is none', { tools: [{}] }, 'ERR_H2O_INVALID_ARGUMENT', undefined],
  ['a call of no tools', { tools: [], tool_choice: 'required' }, 'ERR_H2O_INVALID_ARGUMENT', undefined],
  ['tools and a grammar', { grammar: 'root ::= "a"' }, 'ERR_H2O_INVALID_ARGUMENT', undefined],
  ['tools that are no list', { tools: 'weather' }, 'invalid_request', 'tools'],
  [
    'calls that are none',
    { messages: [{ role: 'assistant', tool_calls: [{}] }] },
    'ERR_H2O_INVALID_ARGUMENT',
    undefined,
  ],
])('%s is a 400', async (_, body, code, param) => {
  const response = await s.post('/v1/chat/completions', { ...asked, ...body })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { code, ...(param && { param }) } })
})
