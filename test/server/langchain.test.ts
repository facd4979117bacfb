/** LangChain.js through its package for OpenAI: text, streams, tools, schemas, abort. */

import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { marks, toolTemplate, weather } from '../addon/text/tool-template.js'
import { someText, startServer, type TestServer, until } from './support.js'

let s: TestServer
beforeAll(async () => {
  s = await startServer({ template: toolTemplate(), defaults: { nPredict: 16, temperature: 0 } })
})
afterAll(() => s[Symbol.asyncDispose]())

const chatModel = (fields: ChatOpenAIFields = {}) =>
  new ChatOpenAI({
    ...{ model: 'any', apiKey: 'none', maxRetries: 0, configuration: { baseURL: `${s.url}/v1` } },
    ...fields,
  })

const text = someText(400, 2)
const messages = [{ role: 'user' as const, content: text }]

describe.each([
  ['chat completions', false],
  ['responses', true],
])('by %s', (_, useResponsesApi) => {
  it('invokes, and streams the same', async () => {
    const fresh = await s.fresh({ messages })
    const answer = await chatModel({ useResponsesApi }).invoke(text)
    expect(answer.text).toBe(fresh.text)
    expect(answer.usage_metadata).toMatchObject({ input_tokens: fresh.prefill.tokens })
    const pieces: string[] = []
    for await (const piece of await chatModel({ useResponsesApi }).stream(text)) pieces.push(piece.text)
    expect(pieces.join('')).toBe(fresh.text)
  })

  it('keeps to a schema', async () => {
    const properties = { city: { type: 'string', enum: ['Paris', 'Rome'] } }
    const schema = {
      title: 'city',
      type: 'object',
      properties,
      required: ['city'],
      additionalProperties: false,
    }
    const model = chatModel({ useResponsesApi, maxTokens: 60 })
    const { city } = await model.withStructuredOutput(schema, { method: 'jsonSchema' }).invoke(text)
    expect(['Paris', 'Rome']).toContain(city)
  })

  it('calls a tool, and goes on with its result', async () => {
    const calling = { logit_bias: marks, stop: ['~~'] }
    const model = chatModel({ useResponsesApi, maxTokens: 200, modelKwargs: calling })
    const asked = new HumanMessage('How is it in Rome?')
    const bound = model.bindTools([weather], { tool_choice: 'required' })
    const answer = await bound.invoke([asked])
    expect(answer.tool_calls).toMatchObject([{ name: 'weather', args: { city: expect.any(String) } }])
    const result = new ToolMessage({ content: '31', tool_call_id: answer.tool_calls?.[0]?.id ?? '' })
    const free = chatModel({ useResponsesApi, maxTokens: 20, modelKwargs: { logit_bias: { '126': -100 } } })
    expect((await free.bindTools([weather]).invoke([asked, answer, result])).text).toHaveLength(20)
  })

  it('aborts', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const read = async () => {
      const endless = { ignore_eos: true }
      const model = chatModel({ useResponsesApi, maxTokens: 8000, modelKwargs: endless })
      for await (const _ of await model.stream('x', { signal })) controller.abort()
    }
    await expect(read()).rejects.toThrow(/abort/i)
    await until(async () => (await s.metric('llamacpp:requests_processing')) === 0)
  })
})
