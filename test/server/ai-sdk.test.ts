/** The AI SDK through its provider for servers that are compatible with OpenAI's. */

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, streamText } from 'ai'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { someText, startServer, type TestServer, until } from './support.js'

let s: TestServer
beforeAll(async () => {
  s = await startServer({ apiKeys: ['key'] })
})
afterAll(() => s[Symbol.asyncDispose]())

const chatModel = (apiKey = 'key') =>
  createOpenAICompatible({ name: 'h2o', baseURL: `${s.url}/v1`, apiKey, includeUsage: true })('tiny')

const messages = [{ role: 'user' as const, content: someText(400, 2) }]

it('generates text', async () => {
  const answer = await generateText({
    ...{ model: chatModel(), messages, maxOutputTokens: 9, temperature: 0 },
    providerOptions: { h2o: { h2o: { dense_tail: 100 } } },
  })
  expect(answer.text).toBe((await s.fresh({ messages, max_tokens: 9, h2o: { dense_tail: 100 } })).text)
  expect(answer.finishReason).toBe('length')
  expect(answer.usage.outputTokens).toBe(9)
})

it('streams text, and says what was cached', async () => {
  const stream = () => streamText({ model: chatModel(), messages, temperature: 0 })
  const { text } = await s.fresh({ messages })
  expect(await stream().text).toBe(text)
  const again = stream()
  expect(await again.text).toBe(text)
  expect((await again.usage).inputTokenDetails.cacheReadTokens).toBeGreaterThan(256)
})

it('aborts', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const { textStream } = streamText({
    model: chatModel(),
    messages,
    abortSignal: signal,
    maxOutputTokens: 7000,
  })
  for await (const _ of textStream) controller.abort()
  const headers = { authorization: 'Bearer key' }
  await until(async () =>
    (await (await fetch(`${s.url}/metrics`, { headers })).text()).includes('h2o_requests_left_total 1'),
  )
  expect(s.slots[0]?.position).toBeLessThan(7000)
})

it('is told what is wrong', async () => {
  const ask = (apiKey: string, n: number) =>
    generateText({
      ...{ model: chatModel(apiKey), maxRetries: 0 },
      messages: [{ role: 'user', content: someText(n) }],
    })
  await expect(ask('wrong', 10)).rejects.toSatisfy(
    (error) => APICallError.isInstance(error) && error.statusCode === 401,
  )
  await expect(ask('key', 9000)).rejects.toSatisfy(
    (error) =>
      APICallError.isInstance(error) && String(error.responseBody).includes('context_length_exceeded'),
  )
})
