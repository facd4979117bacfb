/** Sampling per request, by OpenAI's own client: formats, log-probabilities, penalties, and llama-server's fields. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { optionFields } from '../../src/ts/server/fields.js'
import { someText, startServer, type TestServer } from './support.js'

let s: TestServer
beforeAll(async () => {
  s = await startServer()
})
afterAll(() => s[Symbol.asyncDispose]())

const model = 'any'
const messages = [{ role: 'user' as const, content: someText(80) }]
const schema = {
  type: 'object',
  properties: { ok: { type: 'boolean' }, n: { enum: [1, 2] } },
  required: ['ok', 'n'],
  additionalProperties: false,
}

describe('response_format', () => {
  it('json_schema gives what fits the schema', async () => {
    const answer = await s.openai.chat.completions.parse({
      model,
      messages,
      max_tokens: 200,
      temperature: 2,
      response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
    })
    expect(answer.choices[0]?.finish_reason).toBe('stop')
    expect(answer.choices[0]?.message.parsed).toEqual({
      ok: expect.any(Boolean),
      n: expect.toSatisfy((n) => n === 1 || n === 2),
    })
  })

  it('json_object begins an object', async () => {
    const body = { model, messages, response_format: { type: 'json_object' as const } }
    const answer = await s.openai.chat.completions.create(body)
    expect(answer.choices[0]?.message.content).toMatch(/^\{/)
    expect(answer.choices[0]?.message.content).toBe((await s.fresh(body)).text.trim())
  })
})

describe('a grammar', () => {
  const ask = async (server: TestServer, body: object) => {
    const response = await server.post('/v1/completions', { prompt: 'x', ...body })
    return (await response.json()) as { choices?: { text: string; finish_reason: string }[]; error?: object }
  }

  it("of a request takes the place of the server's", async () => {
    const defaults = { nPredict: 9, temperature: 0, grammar: 'root ::= "ours"' }
    await using server = await startServer({ defaults })
    const answered = async (body: object) => (await ask(server, body)).choices?.[0]
    expect(await answered({})).toMatchObject({ text: 'ours', finish_reason: 'stop' })
    expect(await answered({ response_format: { type: 'text' } })).toMatchObject({ text: 'ours' })
    expect(await answered({ grammar: 'root ::= "yours"' })).toMatchObject({ text: 'yours' })
    expect(await answered({ json_schema: { const: 5 } })).toMatchObject({ text: '5' })
  })

  it('that is none is the fault of the request, in a stream too', async () => {
    const error = { type: 'invalid_request_error', code: 'ERR_H2O_INVALID_ARGUMENT' }
    expect(await ask(s, { grammar: 'root ::= (' })).toMatchObject({ error })
    const stream = await s.openai.completions.create({
      ...{ model, prompt: 'x', stream: true },
      ...{ grammar: 'root ::= (' },
    })
    const read = async () => {
      for await (const _ of stream);
    }
    await expect(read()).rejects.toMatchObject(error)
  })
})

describe('logprobs', () => {
  it('of a chat, whole and streamed', async () => {
    const body = { model, messages, logprobs: true, top_logprobs: 3, max_tokens: 8 }
    const [choice] = (await s.openai.chat.completions.create(body)).choices
    const content = choice?.logprobs?.content ?? []
    expect(content).toHaveLength(8)
    for (const { token, bytes, logprob, top_logprobs } of content) {
      expect(top_logprobs).toHaveLength(3)
      expect(top_logprobs[0]).toEqual({ token, bytes, logprob }) // greedy
      expect(logprob).toBeLessThan(0)
    }
    const bytes = Buffer.from(content.flatMap(({ bytes }) => bytes ?? []))
    expect(bytes.toString()).toBe(choice?.message.content)

    const stream = await s.openai.chat.completions.create({ ...body, stream: true })
    const streamed = []
    for await (const { choices } of stream) streamed.push(...(choices[0]?.logprobs?.content ?? []))
    expect(streamed).toEqual(content)
  })

  it('of a chat without alternatives', async () => {
    const body = { model, messages, logprobs: true, max_tokens: 1 }
    const [choice] = (await s.openai.chat.completions.create(body)).choices
    expect(choice?.logprobs?.content).toMatchObject([{ top_logprobs: [] }])
  })

  it('of a completion, whole and streamed', async () => {
    const body = { model, prompt: someText(50, 4), logprobs: 2, max_tokens: 8 }
    const [choice] = (await s.openai.completions.create(body)).choices
    const { tokens = [], token_logprobs, top_logprobs, text_offset } = choice?.logprobs ?? {}
    expect(tokens).toHaveLength(8)
    expect(top_logprobs?.map((top, i) => top[tokens[i] as string])).toEqual(token_logprobs)
    expect(text_offset?.[0]).toBe(0)
    // the second of two characters is waited for, and stands where it stood
    const waits = { ...body, stop: `${choice?.text.slice(0, 2)}\u0001` }
    const [other] = (await s.openai.completions.create(waits)).choices
    expect(other?.logprobs?.text_offset).toEqual(text_offset)

    const streamed: unknown[] = []
    for await (const { choices } of await s.openai.completions.create({ ...body, stream: true }))
      if (choices[0]?.logprobs) streamed.push(choices[0].logprobs)
    expect(streamed).toEqual(
      tokens.map((token, i) => ({
        tokens: [token],
        token_logprobs: [token_logprobs?.[i]],
        top_logprobs: [top_logprobs?.[i]],
        text_offset: [text_offset?.[i]],
      })),
    )
  })
})

it.each([
  { frequency_penalty: 1.5 },
  { presence_penalty: 1.5 },
  { repeat_penalty: 1.8 },
  { logit_bias: { 65: 100 } },
  { dry_multiplier: 3, dry_sequence_breakers: [] },
])('%o changes the text as in a fresh context', async (fields) => {
  const body = { model, messages, max_tokens: 60 }
  const plain = await s.openai.chat.completions.create(body)
  const other = await s.openai.chat.completions.create({ ...body, ...fields })
  expect(other.choices[0]?.message.content).toBe((await s.fresh({ ...body, ...fields })).text)
  expect(other.choices[0]?.message.content).not.toBe(plain.choices[0]?.message.content)
})

it('takes every field of llama-server at once', async () => {
  const fields = {
    ...{ dynatemp_range: 0.1, dynatemp_exponent: 1, top_k: 20, top_p: 0.9, min_p: 0.01, typical_p: 0.9 },
    ...{ top_n_sigma: 3, xtc_probability: 0.5, xtc_threshold: 0.2, repeat_last_n: 9, repeat_penalty: 1.1 },
    ...{ dry_multiplier: 0.5, dry_base: 0, dry_allowed_length: 3, dry_penalty_last_n: 9 },
    ...{ mirostat: 2, mirostat_tau: 4, mirostat_eta: 0.2, adaptive_target: 0.5, adaptive_decay: 0.8 },
    ...{
      samplers: 'edkt',
      logit_bias: [
        [65, -1.5],
        [66, false],
      ],
      n_probs: 0,
      seed: 3,
      temperature: 1,
    },
  }
  const response = await s.post('/v1/completions', { prompt: 'x', ...fields })
  expect(response.status, await response.clone().text()).toBe(200)
  const named = new Set(optionFields.flatMap(({ names }) => names))
  expect(Object.keys(fields).filter((name) => !named.has(name))).toEqual([])
})

it('does not start with defaults that cannot be', async () => {
  const started = startServer({ defaults: { logitBias: { 99999: 1 } } })
  await expect(started).rejects.toMatchObject({ code: 'ERR_H2O_TOKEN_OUT_OF_RANGE' })
})
