/** A last message of the assistant is continued, as llama.cpp's server does. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toolTemplate } from '../addon/text/tool-template.js'
import { startServer, type TestServer } from './support.js'

let s: TestServer
beforeAll(async () => {
  s = await startServer()
})
afterAll(() => s[Symbol.asyncDispose]())

const user = { role: 'user' as const, content: 'Which is the capital?' }
const begun = { role: 'assistant' as const, content: 'The capital is' }
const body = { model: 'any', messages: [user, begun] }
const prompt = '[user]Which is the capital?\n[assistant]The capital is'

/** What a model says behind a prompt. */
async function behind(server: TestServer, prompt: string) {
  const { choices } = await server.openai.completions.create({ model: 'any', prompt })
  return choices[0]?.text
}

it('whole and streamed, and the answer is what is new', async () => {
  expect(await (await s.post('/apply-template', body)).json()).toEqual({ prompt })
  const text = await behind(s, prompt)
  const { choices } = await s.openai.chat.completions.create(body)
  expect(choices[0]?.message.content).toBe(text)
  let streamed = ''
  for await (const { choices } of await s.openai.chat.completions.create({ ...body, stream: true })) {
    streamed += choices[0]?.delta.content ?? ''
  }
  expect(streamed).toBe(text)
})

it('keeps to a schema together with what is there', async () => {
  const messages = [user, { role: 'assistant' as const, content: '{"city": "R' }]
  const properties = { city: { enum: ['Paris', 'Rome', 'Oslo'] } }
  const schema = { type: 'object', properties, required: ['city'], additionalProperties: false }
  const { choices } = await s.openai.chat.completions.create({
    model: 'any',
    messages,
    max_tokens: 60,
    response_format: { type: 'json_schema', json_schema: { name: 'city', schema } },
  })
  expect(JSON.parse(`{"city": "R${choices[0]?.message.content}`)).toEqual({ city: 'Rome' })
})

it('has the thoughts of what is there apart', async () => {
  const template = toolTemplate()
  await using server = await startServer({ template })
  const messages = [user, { ...begun, reasoning_content: 'easy' }]
  const { choices } = await server.openai.chat.completions.create({ model: 'any', messages })
  expect(choices[0]?.message).not.toHaveProperty('reasoning_content')
  const { prompt } = (await (await server.post('/apply-template', { messages })).json()) as { prompt: string }
  expect(prompt).toMatch(/\[assistant\]<think>easy<\/think>The capital is$/)
  expect(choices[0]?.message.content).toBe(await behind(server, prompt))
})

describe('not', () => {
  const rendered = async (server: TestServer, body: object) =>
    ((await (await server.post('/apply-template', body)).json()) as { prompt: string }).prompt

  it('where the request or the server says so', async () => {
    const ended = `${prompt}\n[assistant]`
    expect(await rendered(s, { ...body, continue_final_message: false })).toBe(ended)
    await using server = await startServer({ prefillAssistant: false })
    expect(await rendered(server, body)).toBe(ended)
    expect(await rendered(server, { ...body, continue_final_message: true })).toBe(prompt)
  })

  it.each([{}, { tool_calls: [] }])('where it is empty: %j', async (none) => {
    const messages = [user, { role: 'assistant', content: '', ...none }]
    expect(await rendered(s, { messages })).toBe('[user]Which is the capital?\n[assistant]')
  })

  it('where it has calls: 400', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
    const messages = [user, { ...begun, tool_calls: [call] }]
    const refused = await s.post('/v1/chat/completions', { messages })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: { code: 'ERR_H2O_INVALID_ARGUMENT' } })
  })
})
