/** llama.cpp's routes beside OpenAI's: what programs ask before they ask the model. */

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { H2oError, type Sequence } from '../../src/ts/index.js'
import { someText, startServer, type TestServer } from './support.js'

let s: TestServer
beforeAll(async () => {
  s = await startServer({ apiKeys: ['k'], defaults: { temperature: 0.5, nPredict: 16, ignoreEos: true } })
})
afterAll(() => s[Symbol.asyncDispose]())

// biome-ignore lint/suspicious/noExplicitAny: what is in it is what the tests look at
type Body = any

const key = { authorization: 'Bearer k' }
const get = async (path: string, headers: Record<string, string> = key) => {
  const response = await fetch(s.url + path, { headers })
  return { status: response.status, body: (await response.json()) as Body }
}
const post = async (path: string, body: object) => {
  const response = await s.post(path, body, key)
  return { status: response.status, body: (await response.json()) as Body }
}

describe('what needs no key', () => {
  it.each(['/health', '/v1/health', '/models', '/v1/models', '/v1/models/tiny'])('%s', async (path) => {
    expect((await get(path, {})).status).toBe(200)
  })

  it.each(['/props', '/slots', '/metrics'])('not %s', async (path) => {
    expect((await fetch(s.url + path)).status).toBe(401)
    expect((await fetch(s.url + path, { headers: { 'x-api-key': 'k' } })).status).toBe(200)
    expect((await fetch(s.url + path, { headers: { 'x-api-key': 'l' } })).status).toBe(401)
  })
})

it('retrieves the model, and no other', async () => {
  expect(await s.openai.models.retrieve('tiny')).toMatchObject({ id: 'tiny', object: 'model' })
  await expect(s.openai.models.retrieve('gpt/5')).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  })
})

it('/props has the context, the template and the defaults', async () => {
  const [context] = s.slots
  const { body } = await get('/props')
  expect(body).toMatchObject({
    total_slots: 1,
    model_alias: 'tiny',
    chat_template: context?.model.chatTemplate,
    modalities: { vision: false, audio: false },
    endpoint_slots: true,
    h2o: { select: 'query', chunk: 64, dense_tail: 20 },
  })
  const { n_ctx, params } = body.default_generation_settings
  expect(n_ctx).toBe(8192)
  expect(params).toMatchObject({
    temperature: 0.5,
    top_k: 40,
    top_p: 0.95,
    n_predict: 16,
    seed: -1,
    stop: [],
  })
  expect(body.model_path).not.toContain('/')
})

it('/slots says which context works', async () => {
  expect((await get('/slots')).body).toMatchObject([{ id: 0, n_ctx: 8192, is_processing: false }])
  const asked = post('/completion', { prompt: someText(4000), n_predict: 4000 })
  let slots: { is_processing: boolean; n_prompt_tokens: number }[] = []
  while (!slots[0]?.is_processing) {
    slots = (await get('/slots')).body
    await sleep(1)
  }
  expect((await get('/slots?fail_on_no_slot=1')).status).toBe(503)
  await asked
  expect((await get('/slots')).body[0]).toMatchObject({ is_processing: false, n_prompt_tokens: 7999 })
})

it('/health and /ready say when the context is lost', async () => {
  await using own = await startServer()
  const [slot] = own.slots as [Sequence]
  const states = async () =>
    Promise.all(['/health', '/ready'].map(async (path) => (await fetch(own.url + path)).status))
  for (const [details, expected] of [
    [{ position: 0 }, 200],
    [{}, 503],
  ] as const) {
    vi.spyOn(slot, 'generate').mockImplementationOnce(() => {
      throw new H2oError('ERR_H2O_DECODE_FAILED', 'it gave up', { details })
    })
    expect((await own.post('/v1/completions', { prompt: 'x' })).status).toBe(500)
    expect(await states()).toEqual([expected, expected])
  }
})

describe('/tokenize and /detokenize', () => {
  it('are each the other backwards', async () => {
    const { model } = s.slots[0] as (typeof s.slots)[0]
    const content = 'one, two\nthree'
    const { body } = await post('/tokenize', { content })
    expect(body.tokens).toEqual([...model.tokenize(content, { addSpecial: false, parseSpecial: true })])
    expect((await post('/detokenize', body)).body).toEqual({ content })
    const whole = await post('/tokenize', { content, add_special: true })
    expect(whole.body.tokens).toEqual([...model.tokenize(content, { parseSpecial: true })])
  })

  it('take many, and nothing', async () => {
    const content = someText(200_000)
    const { body } = await post('/tokenize', { content })
    expect(body.tokens).toHaveLength(200_000)
    expect((await post('/detokenize', body)).body.content).toBe(content)
    expect((await post('/tokenize', {})).body).toEqual({ tokens: [] })
    expect((await post('/tokenize', [1])).body).toHaveProperty('error')
    expect((await post('/detokenize', {})).body).toEqual({ content: '' })
  })

  it('have the pieces of tokens where they are asked for: bytes where one is no text', async () => {
    const content = 'aé<|endoftext|>'
    const { body } = await post('/tokenize', { content, with_pieces: true })
    expect(body.tokens).toEqual([
      { id: 97, piece: 'a' },
      { id: 0xc3, piece: [0xc3] },
      { id: 0xa9, piece: [0xa9] },
      { id: 257, piece: '<|endoftext|>' },
    ])
  })

  it.each([
    ['/detokenize', { tokens: [1e9] }, 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    ['/detokenize', { tokens: ['a'] }, 'invalid_request'],
    ['/detokenize', { tokens: Array(2 ** 18 + 1).fill(65) }, 'invalid_request'],
    ['/tokenize', { content: 3 }, 'invalid_request'],
    ['/tokenize', { content: 'a', with_pieces: 1 }, 'invalid_request'],
    ['/tokenize', { content: 'a'.repeat(2 ** 18 + 1), with_pieces: true }, 'invalid_request'],
  ])('%s refuses %o', async (path, body, code) => {
    expect(await post(path, body)).toMatchObject({ status: 400, body: { error: { code } } })
  })
})

it('writes a chat down, and counts it', async () => {
  const body = { messages: [{ role: 'user', content: 'how long?' }], chat_template_kwargs: { x: 1 } }
  const prompt = '[user]how long?\n[assistant]'
  expect((await post('/apply-template', body)).body).toEqual({ prompt })
  for (const prefix of ['', '/v1']) {
    const { body: counted } = await post(`${prefix}/chat/completions/input_tokens`, body)
    expect(counted).toEqual({
      object: 'response.input_tokens',
      input_tokens: (await s.fresh(body)).prefill.tokens,
    })
  }
})

describe('/completion', () => {
  const body = { prompt: someText(300, 4), temperature: 0 }

  it.each(['/completion', '/completions'])('answers at %s in the body of llama.cpp', async (path) => {
    const { text, prefill } = await s.fresh(body)
    const { body: answer } = await post(path, { ...body, n_predict: 8, n_probs: 2 })
    expect(answer).toMatchObject({
      content: text.slice(0, 8),
      stop: true,
      stop_type: 'limit',
      tokens_predicted: 8,
      tokens_evaluated: prefill.tokens,
      timings: { predicted_n: 8, h2o: { path: 'h2o' } },
    })
    expect(answer.completion_probabilities[0].top_logprobs).toHaveLength(2)
    const stop = text.slice(3, 5)
    const stopped = await post(path, { ...body, stop: [stop] })
    expect(stopped.body).toMatchObject({
      content: text.slice(0, text.indexOf(stop)),
      stop_type: 'word',
      stopping_word: stop,
    })
  })

  it('streams the same', async () => {
    const { text } = await s.fresh(body)
    const streamed = await (await s.post('/completion', { ...body, stream: true }, key)).text()
    const events = streamed
      .trim()
      .split('\n\n')
      .map((event) => JSON.parse(event.slice('data: '.length)))
    expect(events.map(({ content }) => content).join('')).toBe(text)
    expect(events.map(({ stop }) => stop)).toEqual([...Array(events.length - 1).fill(false), true])
  })

  it('counts tokens, also those whose text waits for what may be a stop string', async () => {
    const { text } = await s.fresh(body)
    const stop = [`${text.slice(3, 8)}\u0001`]
    const streamed = await (await s.post('/completion', { ...body, stop, stream: true }, key)).text()
    const pieces = streamed.match(/(?<=^data: )\{.*"stop":false.*$/gm)?.map((one) => JSON.parse(one)) ?? []
    expect(pieces.length).toBeLessThan(16)
    let told = 0
    for (const { content, tokens_predicted } of pieces) {
      told += content.length
      expect(tokens_predicted).toBeGreaterThanOrEqual(told)
    }
    expect(pieces.at(-1).tokens_predicted).toBe(16)
  })
})

it('/chat/completions is /v1/chat/completions', async () => {
  const messages = [{ role: 'user' as const, content: 'x' }]
  const { body } = await post('/chat/completions', { messages, temperature: 0 })
  expect(body.choices[0].message.content).toBe((await s.fresh({ messages, temperature: 0 })).text)
})

describe('what is not served', () => {
  it.each([
    ['/v1/embeddings', 'embeddings are not served'],
    ['/v1/rerank', 'reranking is not served'],
    ['/infill', 'infill is not served'],
    ['/slots/0?action=erase', 'slots are neither saved'],
    ['/props', 'set by flags'],
  ])('%s says so', async (path, message) => {
    const { status, body } = await post(path, { input: 'x' })
    expect({ status, type: body.error.type }).toEqual({ status: 501, type: 'not_supported_error' })
    expect(body.error.message).toContain(message)
  })
})
