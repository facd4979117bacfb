/** Anthropic's /v1/messages through its own client: what it sends, what it gets, whole and streamed. */

import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { marks, toolTemplate, weather } from '../addon/text/tool-template.js'
import { someText, startServer, type TestServer, until } from './support.js'

const clientOf = ({ url }: TestServer, apiKey = 'none') =>
  new Anthropic({ baseURL: url, apiKey, authToken: null, maxRetries: 0 })

let s: TestServer
let client: Anthropic
beforeAll(async () => {
  s = await startServer()
  client = clientOf(s)
})
afterAll(() => s[Symbol.asyncDispose]())

const max_tokens = 16
const model = 'any'
const user = (content: string) => ({ role: 'user' as const, content })

describe('a message', () => {
  const body = { model, max_tokens, system: 'Be brief.', messages: [user(someText(600))] }
  const same = { messages: [{ role: 'system', content: body.system }, ...body.messages], max_tokens }

  it('has the text of a chat, and the tokens', async () => {
    const fresh = await s.fresh(same)
    const message = await client.messages.create(body)
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'tiny',
      content: [{ type: 'text', text: fresh.text }],
      stop_reason: 'max_tokens',
      stop_sequence: null,
      usage: { input_tokens: fresh.prefill.tokens, cache_read_input_tokens: 0, output_tokens: 16 },
      timings: { h2o: { path: 'h2o' } },
    })
    const { usage } = await client.messages.create(body)
    const cached = usage.cache_read_input_tokens ?? 0
    expect(cached).toBeGreaterThan(400)
    expect(usage.input_tokens).toBe(fresh.prefill.tokens - cached)
    expect(await client.messages.countTokens(body)).toEqual({ input_tokens: fresh.prefill.tokens })
  })

  it('streams the same', async () => {
    const stream = client.messages.stream(body)
    const types: string[] = []
    const pieces: string[] = []
    stream.on('streamEvent', ({ type }) => types.push(type)).on('text', (piece) => pieces.push(piece))
    const message = await stream.finalMessage()
    const text = pieces.join('')
    expect(message.content).toEqual([{ type: 'text', text }])
    expect(text).toBe((await s.fresh(same)).text)
    expect(message).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 16 } })
    expect(message.usage.cache_read_input_tokens).toBeGreaterThan(400)
    expect([types[0], ...types.slice(-3)]).toEqual([
      'message_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
  })

  it('says how far its prompt is', async () => {
    const asked = { ...body, messages: [user(someText(3000, 8))], return_progress: true, stream: true }
    const events = await (await s.post('/v1/messages', asked)).text()
    expect(events).toMatch(/event: ping\ndata: \{"type":"ping","prompt_progress":\{"total":3\d+,"cache":/)
    const text = await client.messages.stream({ ...asked, stream: undefined } as typeof body).finalText()
    expect(text).toHaveLength(16)
  })

  it('ends with a stop sequence', async () => {
    const { text } = await s.fresh(same)
    const stop = text.slice(4, 6)
    expect(await client.messages.create({ ...body, stop_sequences: ['~none~', stop] })).toMatchObject({
      content: [{ text: text.slice(0, text.indexOf(stop)) }],
      stop_reason: 'stop_sequence',
      stop_sequence: stop,
    })
  })

  it('goes on behind what the assistant said', async () => {
    const messages = [user('Capital?'), { role: 'assistant' as const, content: 'The capital is' }]
    const { content } = await client.messages.create({ model, max_tokens, messages })
    expect(content).toEqual([{ type: 'text', text: (await s.fresh({ messages, max_tokens })).text }])
  })

  it('is of its blocks, in their order', async () => {
    await using server = await startServer({ template: toolTemplate() })
    const cch = (n: string) => `x-anthropic-billing-header: cc_version=2; cch=${n};You are kind.`
    const asked = {
      model,
      max_tokens,
      system: [{ type: 'text' as const, text: cch('a5145') }],
      tools: [{ name: 'weather', input_schema: weather.function.parameters as Anthropic.Tool.InputSchema }],
      messages: [
        user('How is it?'),
        {
          role: 'assistant' as const,
          content: [
            { type: 'thinking' as const, thinking: 'hm', signature: '' },
            { type: 'text' as const, text: 'I ask.' },
            { type: 'tool_use' as const, id: 'a', name: 'weather', input: { city: 'Rome' } },
          ],
        },
        {
          role: 'user' as const,
          content: [
            {
              type: 'tool_result' as const,
              tool_use_id: 'a',
              content: [{ type: 'text' as const, text: '31' }],
            },
            { type: 'text' as const, text: 'And?' },
          ],
        },
      ],
    }
    const { usage } = await clientOf(server).messages.create(asked)
    const { parameters } = weather.function
    const tools = [{ type: 'function', function: { name: 'weather', parameters } }]
    const call = { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }
    const chat = {
      tools,
      messages: [
        { role: 'system', content: cch('0') },
        user('How is it?'),
        { role: 'assistant', content: 'I ask.', reasoning_content: 'hm', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'a', content: '31' },
        user('And?'),
      ],
    }
    const { prefill } = await server.fresh(chat)
    expect(usage.input_tokens).toBe(prefill.tokens)
    // another stamp is no other prompt
    const again = { ...asked, system: [{ type: 'text' as const, text: cch('ffff0') }] }
    const { usage: then } = await clientOf(server).messages.create(again)
    expect(then.cache_read_input_tokens).toBeGreaterThan(0)
  })
})

it('may have nulls where clients send back what they got', async () => {
  const asked = (none: object, tool: object) => ({
    messages: [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', ...none }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', ...none }] },
    ],
    tools: [{ name: 'f', ...tool }],
  })
  const count = async (body: object) => (await s.post('/v1/messages/count_tokens', body)).json()
  const nulls = asked({ input: null, content: null, text: null }, { type: null, description: null })
  const counted = await count(asked({}, {}))
  expect(counted).toEqual({ input_tokens: expect.any(Number) })
  expect(await count({ ...nulls, output_config: { format: null } })).toEqual(counted)
})

describe('a tool', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ template: toolTemplate(), defaults: { nPredict: 300, temperature: 0 } })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const asked = {
    model,
    max_tokens: 200,
    messages: [user('How is it in Rome?')],
    tools: [{ name: 'weather', input_schema: weather.function.parameters as Anthropic.Tool.InputSchema }],
    tool_choice: { type: 'any' as const, disable_parallel_tool_use: true },
    ...{ logit_bias: marks, stop_sequences: ['~~'] },
  }

  it('is called, whole and streamed, and its result goes back', async () => {
    const anthropic = clientOf(server)
    const whole = await anthropic.messages.create(asked)
    expect(whole.stop_reason).toBe('tool_use')
    const [use] = whole.content as Anthropic.ToolUseBlock[]
    expect(use).toMatchObject({ type: 'tool_use', name: 'weather', id: expect.any(String) })
    expect(['Paris', 'Rome']).toContain((use?.input as { city: string }).city)

    const stream = anthropic.messages.stream(asked)
    const json: string[] = []
    stream.on('inputJson', (piece) => json.push(piece))
    const streamed = await stream.finalMessage()
    expect(streamed).toMatchObject({
      stop_reason: 'tool_use',
      content: [{ name: 'weather', input: use?.input }],
    })
    expect(JSON.parse(json.join(''))).toEqual(use?.input)

    const result = { type: 'tool_result' as const, tool_use_id: use?.id ?? '', content: '31 degrees' }
    const next = await anthropic.messages.create({
      ...asked,
      ...{ logit_bias: { '126': -100 }, max_tokens: 20, tool_choice: { type: 'auto' as const } },
      messages: [
        ...asked.messages,
        { role: 'assistant' as const, content: whole.content },
        { role: 'user' as const, content: [result] },
      ],
    })
    expect(next.content[0]).toMatchObject({ type: 'text', text: expect.any(String) })
  })
})

describe('errors', () => {
  it.each<[string, object, string]>([
    ['a picture', { messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] }, 'type image'],
    [
      'a tool of Anthropic',
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      'web_search_20250305',
    ],
    ['a server of tools', { mcp_servers: [{ type: 'url', url: 'https://example.com' }] }, 'mcp_servers'],
    ['no messages', { messages: [] }, 'messages'],
    ['a block without a type', { messages: [{ role: 'user', content: [{ text: 'x' }] }] }, 'type'],
    ['a wrong type', { temperature: 'hot' }, 'temperature'],
    ['too long a prompt', { messages: [user(someText(9000))] }, 'maximum context length'],
  ])('%s', async (_, body, message) => {
    const asked = client.messages.create({ model, max_tokens, messages: [user('x')], ...body })
    await expect(asked).rejects.toThrow(Anthropic.BadRequestError)
    await expect(asked).rejects.toMatchObject({
      error: {
        type: 'error',
        error: { type: 'invalid_request_error', message: expect.stringContaining(message) },
      },
    })
  })

  it('of a route that is not there', async () => {
    await expect(client.messages.batches.retrieve('x')).rejects.toMatchObject({
      status: 404,
      error: { type: 'error', error: { type: 'not_found_error' } },
    })
  })

  it('of the key, and in a stream', async () => {
    await using server = await startServer({ apiKeys: ['k'], timeoutMs: 300, context: { nCtx: 8192 } })
    const asked = { model, max_tokens: 8000, messages: [user('x')] }
    await expect(clientOf(server, 'l').messages.create(asked)).rejects.toThrow(Anthropic.AuthenticationError)
    const stream = clientOf(server, 'k').messages.stream(asked)
    await expect(stream.finalMessage()).rejects.toThrow(/more than 0.3 seconds/)
  })

  it('a client that leaves frees the context', async () => {
    const stream = client.messages.stream({ model, max_tokens: 8000, messages: [user('x')] })
    await new Promise((resolve) => stream.once('text', resolve))
    const aborted = expect(stream.done()).rejects.toThrow(Anthropic.APIUserAbortError)
    stream.abort()
    await aborted
    await until(async () => (await s.metric('llamacpp:requests_processing')) === 0)
    expect(s.slots[0]?.position).toBeLessThan(8000)
  })
})
