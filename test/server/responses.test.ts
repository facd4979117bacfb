/** OpenAI's /v1/responses through its own client: what it sends, what it gets, whole and streamed. */

import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { marks, toolTemplate, weather } from '../addon/text/tool-template.js'
import { someText, startServer, type TestServer } from './support.js'

let s: TestServer
beforeAll(async () => {
  s = await startServer()
})
afterAll(() => s[Symbol.asyncDispose]())

const model = 'any'
const user = (content: string) => ({ role: 'user' as const, content })

describe('a response', () => {
  const body = { model, instructions: 'Be brief.', input: someText(600), max_output_tokens: 16 }
  const same = {
    messages: [{ role: 'system', content: body.instructions }, user(body.input)],
    max_tokens: 16,
  }

  it('has the text of a chat, and the tokens', async () => {
    const fresh = await s.fresh(same)
    const response = await s.openai.responses.create(body)
    expect(response.output_text).toBe(fresh.text)
    expect(response).toMatchObject({
      object: 'response',
      model: 'tiny',
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      instructions: 'Be brief.',
      store: false,
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text' }] }],
      usage: {
        input_tokens: fresh.prefill.tokens,
        output_tokens: 16,
        input_tokens_details: { cached_tokens: 0 },
      },
      timings: { h2o: { path: 'h2o' } },
    })
    const { usage } = await s.openai.responses.create(body)
    expect(usage?.input_tokens_details.cached_tokens).toBeGreaterThan(400)
    const counted = await s.openai.responses.inputTokens.count({ ...body })
    expect(counted).toEqual({ object: 'response.input_tokens', input_tokens: fresh.prefill.tokens })
  })

  it('streams the same', async () => {
    const stream = s.openai.responses.stream(body)
    const types: string[] = []
    const numbers: number[] = []
    let text = ''
    for await (const event of stream) {
      types.push(event.type)
      numbers.push(event.sequence_number)
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    const response = await stream.finalResponse()
    expect(text).toBe((await s.fresh(same)).text)
    expect(response.output_text).toBe(text)
    expect(response).toMatchObject({ status: 'incomplete', usage: { output_tokens: 16 } })
    expect(numbers).toEqual(numbers.map((_, i) => i))
    expect(types.filter((type) => type !== 'response.output_text.delta')).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.incomplete',
    ])
  })

  it('is complete where the model or a stop string ends it', async () => {
    const { text } = await s.fresh(same)
    const asked = { ...body, stop: [text.slice(4, 6)] }
    expect(await s.openai.responses.create(asked)).toMatchObject({
      status: 'completed',
      incomplete_details: null,
    })
  })

  it('keeps to a schema', async () => {
    const properties = { city: { enum: ['Paris', 'Rome'] } }
    const schema = { type: 'object', properties, required: ['city'], additionalProperties: false }
    const { output_text } = await s.openai.responses.create({
      ...body,
      max_output_tokens: 60,
      text: { format: { type: 'json_schema', name: 'city', schema } },
    })
    expect(['Paris', 'Rome']).toContain(JSON.parse(output_text).city)
  })
})

it('is of its items, in their order', async () => {
  await using server = await startServer({ template: toolTemplate() })
  const { name, parameters } = weather.function
  const response = await server.openai.responses.create({
    model,
    tools: [{ type: 'function', name, parameters, strict: true }],
    input: [
      { role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
      { role: 'user', content: 'How is it?' },
      { type: 'reasoning', id: 'r', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
      {
        ...{ type: 'message', role: 'assistant', id: 'm', status: 'completed' },
        content: [{ type: 'output_text', text: 'I ask.', annotations: [] }],
      },
      { type: 'function_call', call_id: 'a', name, arguments: '{"city":"Rome"}' },
      { type: 'function_call_output', call_id: 'a', output: '31' },
      { role: 'user', content: 'And?' },
    ],
  })
  const call = { id: 'a', type: 'function', function: { name, arguments: '{"city":"Rome"}' } }
  const chat = {
    tools: [{ type: 'function', function: { name, parameters, strict: true } }],
    messages: [
      { role: 'developer', content: 'Be kind.' },
      user('How is it?'),
      { role: 'assistant', content: 'I ask.', reasoning_content: 'hm', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: '31' },
      user('And?'),
    ],
  }
  expect(response.usage?.input_tokens).toBe((await server.fresh(chat)).prefill.tokens)
})

it('may have nulls where clients send back what they got', async () => {
  const asked = (none: object, tool: object) => ({
    input: [
      { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'hm' }], ...none },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}', ...none },
      { type: 'function_call_output', call_id: 'a', ...none },
      user('And?'),
    ],
    tools: [{ type: 'function', name: 'f', ...tool }],
  })
  const count = async (body: object) => (await s.post('/v1/responses/input_tokens', body)).json()
  const nulls = asked(
    { content: null, encrypted_content: null, status: null, output: null },
    { description: null, parameters: null, strict: null },
  )
  const counted = await count(asked({}, {}))
  expect(counted).toMatchObject({ input_tokens: expect.any(Number) })
  expect(await count({ ...nulls, text: { format: null } })).toEqual(counted)
  const { text } = (await (await s.post('/v1/responses', { input: 'x', text: { format: null } })).json()) as {
    text: object
  }
  expect(text).toEqual({ format: { type: 'text' } })
})

it('repeats what it was asked, and nothing else that was sent', async () => {
  const asked = {
    metadata: { ticket: 'a1' },
    reasoning: { effort: 'low', summary: 'auto', other: 'x' },
    text: { verbosity: 'low', other: 'x' },
    tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
    tool_choice: 'none',
  }
  const body = {
    input: someText(2500, 8),
    max_output_tokens: 2,
    stream: true,
    return_progress: true,
    ...asked,
  }
  const text = await (await s.post('/v1/responses', body)).text()
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json as string))
  const [created, , progress] = events
  const last = events.at(-1)
  for (const { response } of [created, last]) {
    expect(response).toMatchObject({ metadata: asked.metadata, tools: asked.tools, tool_choice: 'none' })
    expect(response.reasoning).toEqual({ effort: 'low', summary: 'auto' })
    expect(response.text).toEqual({ format: { type: 'text' }, verbosity: 'low' })
  }
  expect(progress.prompt_progress.total).toBeGreaterThan(2500)
  expect(progress.response).toMatchObject({ id: created.response.id, status: 'in_progress', tools: [] })
})

describe('a tool', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ template: toolTemplate(), defaults: { nPredict: 200, temperature: 0 } })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  it('is called, whole and streamed, and its result goes back', async () => {
    const { name, parameters } = weather.function
    const input: OpenAI.Responses.ResponseInput = [user('How is it in Rome?')]
    const asked = {
      ...{ model, input, tools: [{ type: 'function' as const, name, parameters, strict: true }] },
      ...{ tool_choice: { type: 'function' as const, name }, logit_bias: marks, stop: ['~~'] },
    }
    const { output, status } = await server.openai.responses.create(asked)
    expect(status).toBe('completed')
    const [call] = output as OpenAI.Responses.ResponseFunctionToolCall[]
    expect(call).toMatchObject({ type: 'function_call', name, call_id: expect.any(String) })
    expect(['Paris', 'Rome']).toContain(JSON.parse(call?.arguments ?? '').city)

    const stream = server.openai.responses.stream(asked)
    const pieces: string[] = []
    stream.on('response.function_call_arguments.delta', ({ delta }) => pieces.push(delta))
    const streamed = await stream.finalResponse()
    const json = pieces.join('')
    expect(json).toBe(call?.arguments)
    expect(streamed.output).toMatchObject([{ type: 'function_call', name, arguments: json }])

    const next = await server.openai.responses.create({
      ...{ model, max_output_tokens: 20, logit_bias: { '126': -100 } },
      input: [
        ...input,
        ...(output as OpenAI.Responses.ResponseInputItem[]),
        { type: 'function_call_output', call_id: call?.call_id ?? '', output: '31 degrees' },
      ],
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming)
    expect(next.output_text).toHaveLength(20)
  })
})

describe('errors', () => {
  it.each<[string, object, string]>([
    ['an earlier response', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['a stored prompt', { prompt: { id: 'pmpt_1' } }, 'prompt'],
    ['the background', { background: true }, 'background'],
    ['a tool of OpenAI', { tools: [{ type: 'web_search' }] }, 'tools'],
    ['a function without a name', { tools: [{ type: 'function', parameters: {} }] }, 'tools.0.name'],
    ['an item that is none', { input: [{ type: 'item_reference', id: 'x' }] }, 'input.0'],
    ['a picture', { input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'input.0'],
    ['a wrong type', { max_output_tokens: 'many' }, 'max_output_tokens'],
    ['metadata of megabytes', { metadata: { a: 'x'.repeat(513) } }, 'metadata.a'],
  ])('%s', async (_, body, param) => {
    const asked = s.openai.responses.create({ model, input: 'x', ...body })
    await expect(asked).rejects.toThrow(OpenAI.BadRequestError)
    await expect(asked).rejects.toMatchObject({ param })
  })

  it('in a stream', async () => {
    await using server = await startServer({ timeoutMs: 300 })
    const stream = await server.openai.responses.create({
      ...{ model, input: 'x', max_output_tokens: 8000, stream: true },
    })
    const events: OpenAI.Responses.ResponseStreamEvent[] = []
    const read = async () => {
      for await (const event of stream) events.push(event)
    }
    await read().catch(() => {})
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'timeout', message: /0.3 seconds/ })
  })
})
