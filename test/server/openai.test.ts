/** OpenAI's own client: what it sends, what it gets, and that every user gets their own answer. */

import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { predictGainOf } from '../../src/ts/gain.js'
import type { Sequence } from '../../src/ts/index.js'
import { someText, startServer, type TestServer } from './support.js'

let s: TestServer
beforeAll(async () => {
  s = await startServer()
})
afterAll(() => s[Symbol.asyncDispose]())

const model = 'any'
const user = (content: string) => ({ role: 'user' as const, content })

interface Figures {
  timings: {
    h2o: {
      path: string
      reason: string | null
      chunks: number
      dense_tail: number
      gain_predicted: number | null
    }
    cache_n: number
  }
}

describe('a chat completion', () => {
  it('has the text of a fresh context, usage and timings', async () => {
    const body = { model, messages: [user(someText(600))] }
    const fresh = await s.fresh(body)
    const answer = await s.openai.chat.completions.create(body)
    expect(answer).toMatchObject({
      object: 'chat.completion',
      model: 'tiny',
      choices: [{ index: 0, finish_reason: 'length', message: { role: 'assistant', content: fresh.text } }],
      usage: {
        prompt_tokens: fresh.prefill.tokens,
        completion_tokens: 16,
        total_tokens: fresh.prefill.tokens + 16,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    })
    const { timings } = answer as unknown as Figures
    const { path, chunks, denseTail } = fresh.prefill
    expect(timings.h2o).toMatchObject({ path, reason: null, chunks, dense_tail: denseTail, select: 'query' })
    expect(path).toBe('h2o')
    expect(timings.h2o.gain_predicted).toBeNull()
  })

  it('says what dense attention should take, where it is known to run on the processor', async () => {
    const attention = { dense: 11, own: 6 }
    await using onCpu = await startServer({ attention })
    const gainOf = async (body: { messages: ReturnType<typeof user>[]; h2o?: boolean }) => {
      const answer = await onCpu.openai.chat.completions.create({ model, ...body })
      return (answer as unknown as Figures).timings.h2o.gain_predicted
    }
    const body = { messages: [user(someText(4000, 4))] }
    const { prefill } = await onCpu.fresh(body)
    const gain = predictGainOf(prefill, (onCpu.slots[0] as Sequence).h2o, attention)
    expect(gain).toBeGreaterThan(1)
    expect(await gainOf(body)).toBe(gain)
    expect(await gainOf({ ...body, h2o: false })).toBeNull()
  })

  it('streams the same, and the usage where it is asked for', async () => {
    const body = { model, messages: [user(someText(500, 2))] }
    const { text } = await s.fresh(body)
    const stream = await s.openai.chat.completions.create({
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant')
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(text)
    expect(chunks.at(-2)).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      timings: { h2o: { path: 'h2o' } },
    })
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 16 } })
  })

  it('ends before a stop string, with the reason', async () => {
    const body = { model, messages: [user(someText(100, 3))] }
    const { text } = await s.fresh(body)
    const answer = await s.openai.chat.completions.create({ ...body, stop: [text.slice(5, 7)] })
    expect(answer.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: text.slice(0, text.indexOf(text.slice(5, 7))) },
    })
  })

  it('takes sampling options, and the same seed gives the same', async () => {
    const body = {
      ...{ model, messages: [user('seed')], temperature: 5, top_p: 1, top_k: 0, min_p: 0 },
      ...{ seed: 2 ** 40 + 7, max_completion_tokens: 24, max_tokens: 3 },
    }
    const one = await s.openai.chat.completions.create(body)
    const two = await s.openai.chat.completions.create({ ...body, seed: 7 })
    const other = await s.openai.chat.completions.create({ ...body, seed: 8 })
    expect(one.usage?.completion_tokens).toBe(24)
    expect(two.choices[0]?.message.content).toBe(one.choices[0]?.message.content)
    expect(other.choices[0]?.message.content).not.toBe(one.choices[0]?.message.content)

    const large = { ...body, seed: Number.MAX_SAFE_INTEGER } // by whose 32 bits llama.cpp means any
    const [first, second] = [
      await s.openai.chat.completions.create(large),
      await s.openai.chat.completions.create(large),
    ]
    expect(first.choices[0]?.message.content).toBe(second.choices[0]?.message.content)
  })

  it('takes a prompt as a text, as tokens, and as a list of one of these', async () => {
    const text = someText(40)
    const ids = [
      ...((await s.slots[0]?.model.tokenizeAsync(text, { addSpecial: true, parseSpecial: true })) ?? []),
    ]
    const answers = []
    for (const prompt of [text, [text], ids, [ids]])
      answers.push(
        (await s.openai.completions.create({ model, prompt, max_tokens: 4, temperature: 0 })).choices[0]
          ?.text,
      )
    expect(new Set(answers).size).toBe(1)
    for (const prompt of [[ids, ids], [1, [2]], [[]]])
      await expect(s.openai.completions.create({ model, prompt: prompt as never })).rejects.toMatchObject({
        status: 400,
      })
  })

  it('puts parts of text, developers and tools into the template', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: {} } }]
    const parts = [user('one\ntwo'), { role: 'system' as const, content: 'short' }]
    const sent = await s.openai.chat.completions.create({
      model,
      tools,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'one' },
            { type: 'text', text: 'two' },
          ],
        },
        { role: 'developer', content: 'short' },
      ],
    })
    const plain = await s.fresh({ messages: parts, tools })
    expect(sent.choices[0]?.message.content).toBe(plain.text)
    expect(plain.prefill.tokens).toBe((await s.fresh({ messages: parts })).prefill.tokens + 'weather'.length)
  })
})

describe('a conversation', () => {
  it("does not read again what it has, and answers as a fresh context: the last user's message is dense", async () => {
    const document = user(someText(1500, 5))
    const first = await s.openai.chat.completions.create({ model, messages: [document] })
    const said = first.choices[0]?.message.content ?? ''
    const body = {
      model,
      messages: [document, { role: 'assistant' as const, content: said }, user('and what is that?')],
    }
    const fresh = await s.fresh(body)
    expect(fresh.prefill.denseTail).toBeGreaterThan('and what is that?'.length)
    const second = await s.openai.chat.completions.create(body)
    expect(second.choices[0]?.message.content).toBe(fresh.text)
    const cached = second.usage?.prompt_tokens_details?.cached_tokens ?? 0
    expect(cached).toBeGreaterThan(1300)
    expect(cached % 64).toBe(0)

    // another question behind the same text reads itself and two chunks at most
    const third = { ...body, messages: [...body.messages.slice(0, 2), user('who says so?')] }
    const answer = await s.openai.chat.completions.create(third)
    expect(answer.choices[0]?.message.content).toBe((await s.fresh(third)).text)
    const { timings } = answer as unknown as Figures
    expect(timings.h2o).toMatchObject({ path: 'h2o', dense_tail: 'who says so?\n[assistant]'.length })
    expect((answer.usage?.prompt_tokens ?? 0) - timings.cache_n).toBeLessThan(2 * 64 + 30)
  })

  it('is dense with h2o: false, and as dense at its end as asked', async () => {
    const messages = [user(someText(900, 6))]
    const ask = async (h2o: unknown) => {
      const body = { model, messages, h2o }
      const answer = await s.openai.chat.completions.create(body)
      expect(answer.choices[0]?.message.content).toBe((await s.fresh(body)).text)
      return (answer as unknown as Figures).timings.h2o
    }
    expect(await ask(false)).toMatchObject({ path: 'dense', reason: 'off', chunks: 0 })
    expect(await ask({ dense_tail: 300 })).toMatchObject({ path: 'h2o', chunks: 10, dense_tail: 300 })
    expect((await ask({ dense_tail: 0 })).dense_tail).toBe(0)
  })
})

describe('a completion', () => {
  it.each([
    ['a text', someText(300, 7)],
    ['a list of one text', [someText(200, 8)]],
    ['token ids', Array.from(someText(200, 9), (letter) => letter.charCodeAt(0))],
  ])('of %s, whole and streamed', async (_, prompt) => {
    const body = { model, prompt: prompt as string, max_tokens: 8 }
    const { text } = await s.fresh(body)
    const whole = await s.openai.completions.create(body)
    expect(whole).toMatchObject({ object: 'text_completion', choices: [{ text, finish_reason: 'length' }] })
    let streamed = ''
    for await (const { choices } of await s.openai.completions.create({ ...body, stream: true })) {
      streamed += choices[0]?.text ?? ''
    }
    expect(streamed).toBe(text)
  })

  it('that fills the context was cut short', async () => {
    await using small = await startServer({ context: { nCtx: 256 } })
    const { choices, usage } = await small.openai.completions.create({
      model,
      prompt: someText(240),
      max_tokens: 1000,
    })
    expect(choices[0]?.finish_reason).toBe('length')
    expect(usage?.total_tokens).toBeGreaterThanOrEqual(255)
    expect(usage?.completion_tokens).toBeLessThan(20)
  })
})

it('names the model', async () => {
  const { data } = await s.openai.models.list()
  expect(data).toMatchObject([{ id: 'tiny', object: 'model' }])
})

describe.each([1, 2])('with %i slots', (parallel) => {
  it('three users at once get their own answers', async () => {
    await using server = await startServer({ parallel })
    const bodies = [10, 11, 12].map((seed) => ({ model, messages: [user(someText(700, seed))] }))
    const turns = await Promise.all(
      bodies.map(async (body) => {
        const first = await server.openai.chat.completions.create(body)
        const said = first.choices[0]?.message.content ?? ''
        const messages = [...body.messages, { role: 'assistant' as const, content: said }, user('so?')]
        const second = await server.openai.chat.completions.create({ model, messages })
        return [body, said, { model, messages }, second.choices[0]?.message.content] as const
      }),
    )
    for (const [body, said, next, then] of turns) {
      expect(said).toBe((await server.fresh(body)).text)
      expect(then).toBe((await server.fresh(next)).text)
    }
  })
})

it('goes to the context that holds the beginning of the prompt', async () => {
  await using server = await startServer({ parallel: 2 })
  const ask = (seed: number) =>
    server.openai.completions.create({ model, prompt: someText(700, seed), max_tokens: 1 })
  await ask(20)
  await ask(21)
  for (const seed of [20, 20, 21, 20, 21]) {
    expect((await ask(seed)).usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(500)
  }
})

it('goes to the context that was used longest ago where it is to be read as a whole', async () => {
  await using server = await startServer({ parallel: 2 })
  const prompt = someText(700, 22)
  await server.post('/v1/completions', { prompt, max_tokens: 1 })
  await server.post('/v1/completions', { prompt: `${prompt}more`, max_tokens: 1, cache_prompt: false })
  expect(server.slots.map(({ position }) => position)).toEqual([700, 704])
})

describe('id_slot', () => {
  it('names the slot of a request, which waits for it while others pass', async () => {
    await using server = await startServer({ parallel: 2 })
    const ask = async (body: object) =>
      (await server.post('/completion', { n_predict: 2, prompt: someText(300), ...body })).json() as Promise<{
        id_slot: number
      }>
    expect([(await ask({ id_slot: 1 })).id_slot, (await ask({ id_slot: 0 })).id_slot]).toEqual([1, 0])
    const order: string[] = []
    const told = async (name: string, body: object) => {
      const { id_slot } = await ask(body)
      order.push(name)
      return id_slot
    }
    const long = told('long', { id_slot: 1, n_predict: 300 })
    let slots: { is_processing: boolean }[] = []
    while (!slots[1]?.is_processing) {
      slots = (await (await fetch(`${server.url}/slots`)).json()) as typeof slots
    }
    const others = [told('waits', { id_slot: 1 }), told('passes', {})]
    expect(await Promise.all([long, ...others])).toEqual([1, 1, 0])
    expect(order).toEqual(['passes', 'long', 'waits'])
    expect((await ask({ id_slot: -1 })).id_slot).toBeLessThan(2)
  })

  it('is refused where there is no such slot', async () => {
    const response = await s.post('/completion', { prompt: 'x', id_slot: 1 })
    expect(response.status).toBe(400)
    expect(((await response.json()) as { error: object }).error).toMatchObject({
      param: 'id_slot',
      message: expect.stringContaining('--parallel 1'),
    })
  })
})

describe('errors', () => {
  const messages = [user('x')]
  it.each<[string, object, number, string, string | null]>([
    [
      'a prompt above the context',
      { messages: [user(someText(9000))] },
      400,
      'context_length_exceeded',
      null,
    ],
    ['several answers', { messages, n: 2 }, 400, 'unsupported_parameter', 'n'],
    ['sound', { messages, modalities: ['text', 'audio'] }, 400, 'unsupported_parameter', 'modalities'],
    [
      'another format',
      { messages, response_format: { type: 'xml' } },
      400,
      'invalid_request',
      'response_format.type',
    ],
    ['alternatives alone', { messages, top_logprobs: 2 }, 400, 'invalid_request', 'top_logprobs'],
    ['a sampler that is none', { messages, samplers: ['top_x'] }, 400, 'ERR_H2O_INVALID_ARGUMENT', null],
    [
      'a biased token that is none',
      { messages, logit_bias: { 99999: 1 } },
      400,
      'ERR_H2O_TOKEN_OUT_OF_RANGE',
      null,
    ],
    [
      'two constraints',
      { messages, grammar: 'root ::= "a"', json_schema: {} },
      400,
      'ERR_H2O_INVALID_ARGUMENT',
      null,
    ],
    ['no messages', { messages: [] }, 400, 'invalid_request', 'messages'],
    ['a wrong type', { messages, temperature: 'hot' }, 400, 'invalid_request', 'temperature'],
    ['a wrong value', { messages, top_p: 2 }, 400, 'invalid_request', 'top_p'],
    [
      'a part whose type cannot be a text',
      { messages: [{ role: 'user', content: [{ type: { toString: 1, valueOf: 1 } }] }] },
      400,
      'unsupported_content',
      'messages.0.content',
    ],
    [
      'a bias of no token',
      { messages, logit_bias: [[{ toString: 1 }, 1]] },
      400,
      'invalid_request',
      'logit_bias.0.0',
    ],
    ['functions in each other', { messages, functions: [[[[]]]] }, 400, 'unsupported_parameter', 'functions'],
    ['a message without a role', { messages: [{ content: 'x' }] }, 400, 'invalid_request', 'messages.0.role'],
    ['a budget per request', { messages, h2o: { local: 8 } }, 400, 'invalid_request', 'h2o.local'],
    [
      'an image',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:' } }] }] },
      ...([400, 'unsupported_content', 'messages.0.content'] as const),
    ],
  ])('%s', async (_, body, status, code, param) => {
    for (const stream of [false, true]) {
      const asked = s.openai.chat.completions.create({ model, ...body, stream } as never)
      const error = await asked.then(
        () => undefined,
        (thrown) => thrown,
      )
      expect(error).toBeInstanceOf(OpenAI.APIError)
      expect(error).toMatchObject({ status, code, param, type: 'invalid_request_error' })
    }
  })

  it('names a field of h2o that there is not', async () => {
    const asked = s.openai.chat.completions.create({ model, messages, h2o: { dense_tial: 8 } } as never)
    await expect(asked).rejects.toThrow(/additional properties: dense_tial$/)
  })

  it.each<[string, string, string, number, string]>([
    ['no JSON', '/v1/completions', '{"prompt":', 400, 'invalid_json'],
    ['no body', '/v1/completions', '', 400, 'invalid_json'],
    ['a token that is none', '/v1/completions', '{"prompt":[-1]}', 400, 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    ['ids and texts', '/v1/completions', '{"prompt":[65,"a"]}', 400, 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    ['an empty prompt', '/v1/completions', '{"prompt":""}', 400, 'ERR_H2O_EMPTY_PROMPT'],
    ['two prompts', '/v1/completions', '{"prompt":["a","b"]}', 400, 'unsupported_parameter'],
    ['another route', '/v1/elsewhere', '{}', 404, 'not_found'],
    ['half a character in a URL', '/v1/models/%ff', '{}', 400, 'invalid_request'],
    ['a large body', '/v1/completions', `{"prompt":"${'x'.repeat(2 ** 20)}"}`, 413, 'request_too_large'],
  ])('%s', async (_, path, body, status, code) => {
    const response = await s.post(path, body)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { code, message: expect.stringMatching(/./) } })
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    '',
  ])('of a body that is no JSON: %s', async (type) => {
    const refused = await s.post('/v1/completions', { prompt: 'x' }, { 'content-type': type })
    expect(refused.status).toBe(415)
    const { error } = (await refused.json()) as { error: { code: string; message: string } }
    expect(error.code).toBe('unsupported_media_type')
    expect(error.message).toContain('content-type: application/json')
  })

  it('of a body that is compressed', async () => {
    const refused = await s.post('/v1/completions', { prompt: 'x' }, { 'content-encoding': 'gzip' })
    expect(refused.status).toBe(415)
    expect(await refused.json()).toMatchObject({
      error: { message: expect.stringContaining('without content-encoding') },
    })
  })

  it('takes what clients send that changes nothing', async () => {
    const neutral = {
      ...{ n: 1, logprobs: false, presence_penalty: 0, response_format: { type: 'text' }, logit_bias: {} },
      ...{
        user: 'me',
        store: false,
        metadata: {},
        parallel_tool_calls: true,
        top_logprobs: null,
        seed: null,
      },
    }
    expect((await s.post('/v1/chat/completions', { messages, ...neutral })).status).toBe(200)
  })
})
