/** What bounds the server: clients that leave, the queue, the time, the body, keys, origins, and its end. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tinyModel } from '../ts/support.js'
import { someText, startServer, type TestServer, type TestServerOptions, until } from './support.js'

const long = someText(7000, 3)
const short = { prompt: someText(40), max_tokens: 2 }
const posted = 'POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'

/** Slow enough that a long prompt is in the middle for a while. */
async function slowServer(options: TestServerOptions = {}): Promise<TestServer> {
  const model = await tinyModel({ layers: 8, hidden: 256, heads: 4 }, 'slow')
  return startServer({ ...options, context: { model } })
}

/** Its grammar takes seconds. */
function slowSchema(): object {
  const properties = Array.from({ length: 9000 }, (_, i) => [`p${i}`, { type: 'string', pattern: '^a$' }])
  return { required: properties.map(([name]) => name), properties: Object.fromEntries(properties) }
}

/** A request that reads its prompt now; `leave` ends the connection. */
async function reading(s: TestServer, stream: boolean) {
  const controller = new AbortController()
  const { signal } = controller
  const asked = fetch(`${s.url}/v1/completions`, {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: long, max_tokens: 2, stream }),
  })
  const text = asked.then((response) => response.text()).catch((error: Error) => error)
  await until(() => s.slots.some(({ position }) => position > 0 && position < 3000))
  return { text, leave: () => controller.abort() }
}

describe('a client that leaves', () => {
  it.each([false, true])('in mid-prefill frees the context within a chunk, stream: %s', async (stream) => {
    await using s = await slowServer()
    const [context] = s.slots
    const client = await reading(s, stream)
    const before = context?.position ?? 0
    client.leave()
    await until(async () => (await s.metric('llamacpp:requests_processing')) === 0)
    // what had been read stays: the call that ran then, and perhaps one that had just ended
    expect(context?.position).toBeLessThan(before + 2 * 192)
    expect(await s.metric('h2o_requests_left_total')).toBe(1)
    const answer = await s.openai.completions.create({ model: 'any', ...short })
    expect(answer.choices[0]?.text).toBe((await s.fresh(short)).text)
  })

  it('in the middle of a grammar that takes for ever', { tags: ['hostile'] }, async () => {
    await using s = await startServer()
    const json_schema = slowSchema()
    const controller = new AbortController()
    const body = JSON.stringify({ prompt: 'x', json_schema })
    const headers = { 'content-type': 'application/json' }
    const { signal } = controller
    const left = fetch(`${s.url}/v1/completions`, { method: 'POST', signal, headers, body }).catch(
      () => 'left',
    )
    await until(async () => (await s.metric('llamacpp:requests_processing')) === 1)
    await sleep(300)
    const next = s.post('/v1/completions', short)
    const begin = performance.now()
    controller.abort()
    expect([await left, (await next).status]).toEqual(['left', 200])
    expect(performance.now() - begin).toBeLessThan(1500)
  })

  it('between tokens', async () => {
    await using s = await startServer()
    const stream = await s.openai.completions.create({
      model: 'any',
      prompt: 'x',
      stream: true,
      max_tokens: 8000,
    })
    for await (const { choices } of stream) if (choices[0]?.text) break
    await until(async () => (await s.metric('llamacpp:requests_processing')) === 0)
    expect(s.slots[0]?.position).toBeLessThan(8000)
  })

  it('while it waits gives up its place', async () => {
    await using s = await slowServer({ queue: 1 })
    const first = await reading(s, false)
    const controller = new AbortController()
    const waiting = s.openai.completions.create({ model: 'any', ...short }, { signal: controller.signal })
    const failed = expect(waiting).rejects.toThrow()
    await until(async () => (await s.metric('llamacpp:requests_deferred')) === 1)
    controller.abort()
    await failed
    await until(async () => (await s.metric('llamacpp:requests_deferred')) === 0)
    const next = s.openai.completions.create({ model: 'any', ...short })
    first.leave()
    expect((await next).choices[0]?.finish_reason).toBe('length')
  })
})

it('a client that sends several requests at once and leaves ends all of them', async () => {
  await using s = await startServer({ parallel: 2 })
  const body = JSON.stringify({ prompt: 'x', max_tokens: 8000 })
  const head = `host: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  const client = connect(Number(new URL(s.url).port)).on('error', () => {})
  client.write(`POST /v1/completions HTTP/1.1\r\n${head}\r\n\r\n${body}`.repeat(5))
  await until(async () => (await s.metric('llamacpp:requests_deferred')) === 3)
  client.destroy()
  await until(async () => (await s.metric('h2o_requests_left_total')) === 5)
  expect(await s.metric('llamacpp:requests_processing')).toBe(0)
  await s.server.drain()
})

it('a client that sends a stream behind what waits for its slot gets both', async () => {
  await using s = await startServer({ queue: 1 })
  const asked = (path: string, given: object) => {
    const body = JSON.stringify(given)
    const head = `host: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    return `POST ${path} HTTP/1.1\r\n${head}\r\n\r\n${body}`
  }
  const properties = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`p${i}`, { type: 'string' }]))
  const slow = { messages: [{ role: 'user', content: 'x' }], json_schema: { properties } }
  const client = connect(Number(new URL(s.url).port))
  let text = ''
  client.on('data', (part) => {
    text += part
  })
  // its events are more than is kept for a client
  const stream = { prompt: 'x', stream: true, max_tokens: 500 }
  client.write(asked('/v1/chat/completions', slow) + asked('/v1/completions', stream))
  await until(() => text.includes('[DONE]'))
  expect(text.indexOf('chat.completion')).toBeLessThan(text.indexOf('text_completion'))
  client.destroy()
})

it('a client that sends thousands at once gets answers to a few', async () => {
  await using s = await startServer()
  const client = connect(Number(new URL(s.url).port)).on('error', () => {})
  let text = ''
  client.on('data', (part) => {
    text += part
  })
  client.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(5000))
  await new Promise((closed) => client.on('close', closed)) // once() would reject where it is reset
  const answers = text.match(/^HTTP\/1.1 200/gm) ?? [] // a reset loses some, or all
  expect(answers.length).toBeLessThanOrEqual(16)
  expect((await fetch(`${s.url}/health`)).status).toBe(200)
})

describe('a client that stops reading', { tags: ['hostile'] }, () => {
  const alias = 'a'.repeat(2 ** 23) // more than sockets hold

  /** Its connection, once the server has begun to answer. */
  async function stalled(s: TestServer, stream: boolean) {
    const body = JSON.stringify({ ...short, max_tokens: 8000, stream })
    const head = `host: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    const client = connect(Number(new URL(s.url).port))
    client.on('error', () => {}).pause()
    client.write(`POST /v1/completions HTTP/1.1\r\n${head}\r\n\r\n${body}`)
    await until(async () => (await s.metric('llamacpp:requests_processing')) === 1)
    return client
  }

  it('of a stream is left, and its context is free', async () => {
    await using s = await startServer({ alias, stalledMs: 300 })
    const client = await stalled(s, true)
    expect((await s.post('/v1/completions', short)).status).toBe(200)
    expect(await s.metric('h2o_requests_left_total')).toBe(1)
    client.destroy()
  })

  it('holds no drain', async () => {
    await using s = await startServer({ alias, stalledMs: 300 })
    const client = await stalled(s, true)
    const began = performance.now()
    await s.server.drain()
    expect(performance.now() - began).toBeLessThan(3000)
    client.destroy()
  })

  it('is not one that reads slowly', async () => {
    await using s = await startServer({ alias: 'b'.repeat(2 ** 20), stalledMs: 400 })
    const response = await s.post('/v1/completions', { ...short, max_tokens: 8, stream: true })
    const parts: Buffer[] = []
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
      parts.push(Buffer.from(part))
      if (parts.length % 16 === 0) await sleep(50)
    }
    expect(Buffer.concat(parts).toString()).toContain('[DONE]')
  })
})

it('waits for an answer behind another one of its connection', { tags: ['hostile'] }, async () => {
  await using s = await slowServer({ stalledMs: 100 })
  const client = connect(Number(new URL(s.url).port)).on('error', () => {})
  let text = ''
  client.on('data', (part) => {
    text += part
  })
  const body = JSON.stringify({ prompt: long, max_tokens: 2 })
  client.write(
    `GET /health HTTP/1.1\r\nhost: x\r\n\r\n${posted}content-length: ${body.length}\r\n\r\n${body}`,
  )
  await until(() => client.destroyed || text.includes('text_completion'))
  expect(client.destroyed).toBe(false)
  client.destroy()
})

it('ends a drain where a request never arrives', async () => {
  await using s = await startServer({ stalledMs: 300 })
  const client = connect(Number(new URL(s.url).port)).on('error', () => {})
  client.write('POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n')
  client.write('content-length: 100\r\n\r\n{')
  await sleep(100)
  const began = performance.now()
  await s.server.drain()
  expect(performance.now() - began).toBeLessThan(3000)
})

it('ends a drain where others go on asking', { tags: ['hostile'] }, async () => {
  await using s = await startServer({ alias: 'a'.repeat(2 ** 23), stalledMs: 600 })
  const clients: Socket[] = []
  const ask = () => {
    const client = connect(Number(new URL(s.url).port)).on('error', () => {})
    client.pause().write('GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n') // and takes nothing of the answer
    clients.push(client)
  }
  ask()
  const asking = setInterval(ask, 100)
  await sleep(150)
  const drained = await Promise.race([s.server.drain().then(() => 'drained'), sleep(6000)])
  clearInterval(asking)
  for (const client of clients) client.destroy()
  expect(drained).toBe('drained')
})

it('looks for the question of a chat in no time', { tags: ['hostile'] }, async () => {
  await using s = await startServer({
    maxBodyBytes: 2 ** 24,
    context: { nCtx: 16384, h2o: { local: 16, heavy: 16 } },
  })
  const n = 5000
  const messages = [
    { role: 'user', content: `${'a'.repeat(n)}b` },
    { role: 'assistant', content: 'a'.repeat(2 * n) },
  ]
  expect((await s.post('/v1/chat/completions', { messages, max_tokens: 1 })).status).toBe(200)
  const far = messages.map(({ role, content }) => ({ role, content: content.repeat(30) }))
  const began = performance.now()
  const refused = await s.post('/v1/chat/completions', { messages: far })
  expect(await refused.json()).toMatchObject({ error: { code: 'context_length_exceeded' } })
  expect(performance.now() - began).toBeLessThan(5000) // 32 s by lastIndexOf
})

/** The longest that the event loop was held while `work` ran, in milliseconds. */
async function held(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  await sleep(50) // it begins with a turn of its own
  delay.enable()
  await work()
  delay.disable()
  return delay.max / 1e6
}

describe('a request holds the event loop for no time', { tags: ['hostile'] }, () => {
  const manyTools = Array.from({ length: 4 }, (_, i) => {
    const allOf = Array.from({ length: 4000 }, (_, j) => ({
      type: 'object',
      properties: { [`p${j}`]: { type: 'string' } },
    }))
    return { type: 'function', function: { name: `f${i}`, parameters: { allOf } } }
  })
  const messages = [{ role: 'user', content: 'Hi' }]

  it.each<[string, number, string | object]>([
    ['tools of a megabyte', 200, { messages, tools: manyTools, max_tokens: 1 }],
    ['nesting', 400, `{"messages": ${'['.repeat(2 ** 22)}`],
    ['many lists', 400, `{"prompt": "x", "a": [${'[],'.repeat(2 ** 21)}1]}`],
    ['many names', 400, `{"prompt": "x"${Array.from({ length: 200_000 }, (_, i) => `,"k${i}":1`).join('')}}`],
    [
      'many strings',
      400,
      `{"prompt": ["a"${Array.from({ length: 10 ** 6 }, (_, i) => `,"${i}"`).join('')}]}`,
    ],
    ['a name of JavaScript', 200, { messages, max_tokens: 1, a: Array(1_400_000).fill(1), constructor: 1 }],
    ['many letters of samplers', 400, { messages, samplers: 'k'.repeat(2 ** 23) }],
    ['a long name of a sampler', 400, { messages, samplers: ['x-'.repeat(2 ** 22)] }],
    ['a long text', 400, { messages: [{ role: 'user', content: 'é'.repeat(2 ** 23 - 100) }] }],
    ['halves of characters', 400, `{"messages":[{"role":"user","content":"${'\\ud800'.repeat(2 ** 19)}"}]}`],
  ])('%s', async (_, status, body) => {
    await using s = await startServer({ maxBodyBytes: 2 ** 24 })
    await s.post('/v1/chat/completions', { messages, max_tokens: 1 })
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    let answered = 0
    const ms = await held(async () => {
      answered = (await s.post('/v1/chat/completions', text)).status
    })
    expect(answered).toBe(status)
    expect(ms).toBeLessThan(400) // 100 on an idle machine, the client's share of this process left out
  })
})

it('puts many calls of a response into one message in no time', { tags: ['hostile'] }, async () => {
  await using s = await startServer()
  const input = Array(40_000).fill({ type: 'function_call' })
  let answered = 0
  const ms = await held(async () => {
    answered = (await s.post('/v1/responses', { input })).status
  })
  expect(answered).toBe(400) // it ends with calls
  expect(ms).toBeLessThan(400) // 10 s where each call copied those before it
})

it('counts the parts of a body across its slices', async () => {
  await using s = await startServer({ maxBodyBytes: 2 ** 24 })
  const before = '{"prompt":"x","max_tokens":1,"user":"'
  // a backslash at the end of a slice, and behind the quote what would be far too many lists
  const body = `${before.padEnd(2 ** 20 - 1, 'a')}\\"${'[],'.repeat(100_001)}"}`
  expect(body[2 ** 20 - 1]).toBe('\\')
  expect((await s.post('/v1/completions', body)).status).toBe(200)
  const lists = `${before.padEnd(2 ** 20, 'a')}","a":[${'[],'.repeat(60_000)}"${'a'.repeat(2 ** 20)}",${'[],'.repeat(60_000)}1]}`
  const refused = await s.post('/v1/completions', lists)
  expect(await refused.json()).toMatchObject({ error: { code: 'request_too_complex' } })
})

it('refuses a name that is the prototype of an object, in words of its own', async () => {
  await using s = await startServer()
  const ask = async (member: string) => (await s.post('/v1/completions', `{"prompt":"x",${member}}`)).json()
  for (const name of ['__proto__', '\\u005f_prot\\u006F__']) {
    const { error } = (await ask(`"a":[{"${name}" : 1}]`)) as { error: object }
    expect(error).toMatchObject({ code: 'invalid_json', message: expect.stringContaining('__proto__') })
  }
  expect(await ask('"user":"__proto__","constructor":{"prototype":{}}')).toHaveProperty('choices')
})

it('refuses a chat that its template makes longer than a body may be', async () => {
  const template = '{{ messages[0].content }}{{ tools | tojson(indent=4) }}'
  await using s = await startServer({ template, maxBodyBytes: 20_000 })
  const parameters = JSON.parse(`{"default":${'['.repeat(50)}${Array(200).fill(0)}${']'.repeat(50)}}`)
  const tools = [{ type: 'function', function: { name: 'f', parameters } }]
  const body = { messages: [{ role: 'user', content: 'x' }], tools }
  expect(JSON.stringify(body).length).toBeLessThan(1000)
  for (const path of ['/v1/chat/completions', '/v1/chat/completions/input_tokens', '/apply-template']) {
    const { error } = (await (await s.post(path, body)).json()) as { error: object }
    const message = expect.stringMatching(
      /^the template makes \d+ characters of this chat; 20000 are the most/,
    )
    expect(error).toMatchObject({ code: 'context_length_exceeded', message })
  }
})

it('refuses in a few words what was asked for in many', async () => {
  await using s = await startServer()
  const long = 'x'.repeat(2 ** 18)
  for (const body of [
    { samplers: [long] },
    { logit_bias: { [long]: 1 } },
    { logit_bias: [['9'.repeat(2 ** 18), 1]] },
  ]) {
    const refused = await s.post('/v1/completions', { prompt: 'x', ...body })
    expect(refused.status).toBe(400)
    expect((await refused.text()).length).toBeLessThan(1000)
  }
})

it.each([
  ['a method that there is not', 400, 'FOO / HTTP/1.1\r\nhost: x\r\n\r\n'],
  [
    'two framings',
    400,
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
  ],
  ['no host', 400, 'GET /health HTTP/1.1\r\n\r\n'],
  ['a compressed body, before it comes', 415, `${posted}content-length: 9\r\ncontent-encoding: gzip\r\n\r\n`],
  ['large headers', 431, `GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(2 ** 15)}\r\n\r\n`],
])('%s is an error in the form of all', async (_, status, request) => {
  await using s = await startServer()
  const client = connect(Number(new URL(s.url).port)).on('error', () => {})
  client.write(request)
  const [answer] = await once(client, 'data')
  const [head, body] = String(answer).split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(JSON.parse(String(body))).toMatchObject({ error: { type: 'invalid_request_error', param: null } })
})

it('writes no error into an answer that has begun', async () => {
  await using s = await startServer()
  const body = JSON.stringify({ prompt: 'x', max_tokens: 8000, stream: true })
  const client = connect(Number(new URL(s.url).port)).on('error', () => {})
  client.write(`${posted}content-length: ${body.length}\r\n\r\n${body}`)
  let text = ''
  client.on('data', (part) => {
    if (text === '') client.write('no request\r\n\r\n')
    text += part
  })
  await new Promise((closed) => client.on('close', closed))
  expect(text.match(/HTTP\/1.1 .*/g)).toEqual(['HTTP/1.1 200 OK'])
})

it('tells a client that sends all before it listens that its body is too large', async () => {
  await using s = await startServer()
  const client = connect(Number(new URL(s.url).port)).pause()
  const body = Buffer.alloc(2 ** 24, 'a')
  client.write(`${posted}content-length: ${body.length}\r\n\r\n`)
  await new Promise<void>((resolve, reject) =>
    client.write(body, (error) => (error ? reject(error) : resolve())),
  )
  client.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
  let text = ''
  client.on('data', (part) => {
    text += part
  })
  client.resume()
  await until(() => text.includes('"ok"'))
  expect(text).toMatch(/^HTTP\/1.1 413 /)
  client.destroy()
})

it.each([
  ['an address with a host', 'GET http://x/health HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['what is expected and not known', 'GET /health HTTP/1.1\r\nhost: x\r\nexpect: tea\r\n\r\n'],
])('takes %s', async (_, request) => {
  const lines: string[] = []
  await using s = await startServer({ apiKeys: ['k'], onRequest: (line) => lines.push(line) })
  const ask = async (text: string) => {
    const client = connect(Number(new URL(s.url).port))
    client.write(text)
    const [answer] = await once(client, 'data')
    client.destroy()
    return String(answer).slice(0, 12)
  }
  expect(await ask(request)).toBe('HTTP/1.1 200')
  expect(await ask(request.replace('health', 'props').replace('//x', '//name:word@x'))).toBe('HTTP/1.1 401')
  expect(lines[0]).toMatch(/^GET \/props, 401, /)
})

it('refuses a body that is not UTF-8, in place of a prompt with other characters', async () => {
  await using s = await startServer()
  const before = `{"max_tokens":1,"prompt":"${'a'.repeat(2 ** 10)}`
  const send = (bytes: number[]) =>
    fetch(`${s.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from('"}')]),
    })
  expect((await send([0xc3, 0xa9])).status).toBe(200)
  for (const bytes of [[0xc3], [0xff], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
    const refused = await send(bytes)
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: { code: 'invalid_json' } })
  }
})

it('answers 429 with Retry-After where the queue is full, and is not ready', async () => {
  await using s = await slowServer({ queue: 0 })
  const client = await reading(s, true)
  const refused = await s.post('/v1/completions', short)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'queue_full' } })
  expect((await fetch(`${s.url}/ready`)).status).toBe(503)
  expect((await fetch(`${s.url}/health`)).status).toBe(200)
  client.leave()
  await until(async () => (await fetch(`${s.url}/ready`)).status === 200)
})

it('writes texts as tokens one after the other, and as many wait as for contexts', {
  tags: ['hostile'],
}, async () => {
  await using s = await startServer({ queue: 1, maxBodyBytes: 2 ** 24 })
  const controller = new AbortController()
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ content: someText(2 ** 19) })
  const ask = async (signal: AbortSignal | null = null) => {
    const answer = await fetch(`${s.url}/tokenize`, { method: 'POST', headers, body, signal })
    await answer.text() // an answer that nobody takes keeps its place
    return answer.status
  }
  const left = ask(controller.signal).catch(() => 'left')
  const asked = await Promise.all(Array.from({ length: 4 }, () => ask()))
  expect(asked.filter((status) => status === 429).length).toBeGreaterThanOrEqual(2)
  controller.abort()
  await left
  await until(async () => (await ask()) === 200)
  expect(await Promise.all([ask(), ask()])).toEqual([200, 200])
})

it('writes texts as tokens while grammars of chats that are counted are made', async () => {
  await using s = await startServer()
  const messages = [{ role: 'user', content: 'x' }]
  const json_schema = slowSchema()
  const tools = [{ type: 'function', function: { name: 'f', parameters: json_schema } }]
  const chats = [
    ['/apply-template', { messages, json_schema }],
    ['/v1/chat/completions/input_tokens', { messages, tools }],
    ['/v1/messages/count_tokens', { messages, tools: [{ name: 'f', input_schema: json_schema }] }],
  ] as const
  const controller = new AbortController()
  const slow = chats.map(async ([path, body]) => {
    const { signal } = controller
    const headers = { 'content-type': 'application/json' }
    return fetch(s.url + path, { method: 'POST', signal, headers, body: JSON.stringify(body) }).catch(
      () => path,
    )
  })
  await sleep(300)
  const { status } = await s.post('/apply-template', { messages })
  const counted = s.post('/tokenize', { content: 'ab' }).then((answer) => answer.json())
  expect(await Promise.race([counted, ...slow])).toEqual({ tokens: [97, 98] })
  expect(status).toBe(200)
  controller.abort()
  expect(await Promise.all(slow)).toEqual(chats.map(([path]) => path))
})

it('keeps so much for clients that do not take the tokens of their texts, and no more', {
  tags: ['hostile'],
}, async () => {
  await using s = await startServer({ maxBodyBytes: 2 ** 24 })
  const body = JSON.stringify({ content: 'z'.repeat(2 ** 23 + 1) }) // as ids four times as long
  const client = connect(Number(new URL(s.url).port))
    .on('error', () => {})
    .pause()
  const head = `host: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  client.write(`POST /tokenize HTTP/1.1\r\n${head}\r\n\r\n${body}`)
  const count = async () => (await s.post('/tokenize', { content: 'a' })).status
  await until(async () => (await count()) === 429)
  client.destroy()
  await until(async () => (await count()) === 200)
})

it('refuses a grammar that no text fits, and one that takes too much', { tags: ['hostile'] }, async () => {
  await using s = await startServer({ maxBodyBytes: 2 ** 24 })
  const types = (inner: object, n: number): object =>
    n === 0 ? inner : types({ type: ['object', 'string'], allOf: [inner] }, n - 1)
  for (const body of [{ grammar: 'root ::= <[99999]>' }, { json_schema: types({}, 100) }]) {
    const refused = await s.post('/v1/completions', { prompt: 'x', ...body })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
  }
  // a chat's begins with what the template has written of the answer
  const json_schema = { enum: Array.from({ length: 40_000 }, (_, i) => `v${i}`) }
  const chat = await s.post('/v1/chat/completions', {
    messages: [{ role: 'user', content: 'x' }],
    json_schema,
  })
  expect([chat.status, (await chat.json()) as object]).toMatchObject([
    400,
    { error: { h2o_code: 'ERR_H2O_INVALID_ARGUMENT' } },
  ])
  expect((await s.post('/v1/completions', short)).status).toBe(200)
})

it('ends a request that takes too long, and says so in a stream', async () => {
  await using s = await slowServer({ timeoutMs: 300 })
  const whole = await s.post('/v1/completions', { prompt: long })
  expect(whole.status).toBe(504)
  expect(whole.headers.get('x-should-retry')).toBe('false')
  expect(await whole.json()).toMatchObject({ error: { code: 'timeout', type: 'server_error' } })
  const stream = await s.openai.completions.create({ model: 'any', prompt: long, stream: true })
  const read = async () => {
    for await (const _ of stream);
  }
  await expect(read()).rejects.toMatchObject({ code: 'timeout' })
  await until(async () => (await s.metric('llamacpp:requests_processing')) === 0)
})

describe('drain', { tags: ['hostile'] }, () => {
  it('ends what there is, also over connections that stay, and takes nothing new', async () => {
    await using s = await slowServer()
    const client = await reading(s, true)
    const waiting = s.post('/v1/completions', short)
    await until(async () => (await s.metric('llamacpp:requests_deferred')) === 1)
    const kept = connect(Number(new URL(s.url).port))
    kept.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
    await new Promise((resolve) => kept.once('data', resolve))
    const drained = s.server.drain()
    const refused = await s.post('/v1/completions', short)
    expect([refused.status, (await fetch(`${s.url}/ready`)).status]).toEqual([503, 503])
    expect((await s.post('/tokenize', { content: 'x' })).status).toBe(503)
    expect(await refused.json()).toMatchObject({ error: { code: 'shutting_down' } })
    expect(await client.text).toContain('[DONE]')
    expect((await waiting).status).toBe(200)
    await drained
    await expect(fetch(`${s.url}/health`)).rejects.toThrow()
  })

  it('waits for a client that is slow to take its answer', async () => {
    const alias = 'a'.repeat(2 ** 23) // more than sockets hold
    await using s = await startServer({ alias })
    const body = JSON.stringify(short)
    const head = `host: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    const client = connect(Number(new URL(s.url).port))
    client.pause()
    client.write(`POST /v1/completions HTTP/1.1\r\n${head}\r\n\r\n${body}`)
    await until(async () => (await s.metric('llamacpp:tokens_predicted_total')) === 2)
    let isDrained = false
    const drained = s.server.drain().then(() => {
      isDrained = true
    })
    await sleep(1500)
    expect(isDrained).toBe(false)
    const parts: Buffer[] = []
    const ended = once(client, 'close')
    client.on('data', (part) => parts.push(part)).resume()
    await drained
    await ended
    const text = Buffer.concat(parts).toString()
    expect(JSON.parse(text.slice(text.indexOf('{')))).toMatchObject({
      model: alias,
      object: 'text_completion',
    })
  })

  it('does not wait for a connection without a request', async () => {
    await using s = await startServer()
    const silent = connect(Number(new URL(s.url).port))
    await once(silent, 'connect')
    await fetch(`${s.url}/health`) // keeps its own
    const began = performance.now()
    await s.server.drain()
    expect(performance.now() - began).toBeLessThan(1000)
  })
})

describe('API keys', () => {
  let s: TestServer
  beforeEach(async () => {
    s = await startServer({ apiKeys: ['first', 'second', 'dritter à'] })
  })
  afterEach(() => s[Symbol.asyncDispose]())

  it('let in who has one', async () => {
    expect((await s.openai.completions.create({ model: 'any', ...short })).choices).toHaveLength(1)
    expect((await s.post('/v1/completions', short, { authorization: 'bearer second' })).status).toBe(200)
    for (const bytes of ['utf8', 'latin1'] as const) {
      const authorization = Buffer.from('Bearer dritter à', bytes).toString('latin1') // a character to fetch is a byte
      expect((await s.post('/v1/completions', short, { authorization })).status).toBe(200)
    }
  })

  it('share what was read, unless they are separate', async () => {
    const prompt = someText(800, 9)
    for (const separateKeys of [false, true]) {
      await using server = await startServer({ apiKeys: ['alice', 'bob'], separateKeys })
      const cached = async (key: string) => {
        const authorization = `Bearer ${key}`
        const answer = await server.post('/v1/completions', { prompt, max_tokens: 2 }, { authorization })
        const { usage, choices } = (await answer.json()) as never as {
          usage: { prompt_tokens_details: { cached_tokens: number } }
          choices: [{ text: string }]
        }
        expect(choices[0].text).toBe((await server.fresh({ prompt, max_tokens: 2 })).text)
        return usage.prompt_tokens_details.cached_tokens
      }
      const counts = []
      for (const key of ['alice', 'alice', 'bob', 'bob', 'alice']) counts.push(await cached(key))
      expect(counts.map((n) => n > 0)).toEqual([false, true, !separateKeys, true, true])
    }
  })

  it.each([
    'Bearer third',
    'Bearer ',
    'Basic first',
    'first',
    undefined,
  ])('refuse %s', async (authorization) => {
    const headers = authorization === undefined ? {} : { authorization }
    for (const path of ['/v1/completions', '/v1/chat/completions', '/elsewhere']) {
      const refused = await s.post(path, short, headers)
      expect(refused.status).toBe(401)
      expect(await refused.json()).toMatchObject({ error: { code: 'invalid_api_key' } })
    }
    expect((await fetch(`${s.url}/metrics`, { headers })).status).toBe(401)
    for (const path of ['/health', '/ready', '/v1/models']) {
      expect((await fetch(s.url + path, { headers })).status).toBe(200)
    }
  })
})

describe('pages of other origins', () => {
  const origin = 'https://page.example'
  const preflight = (s: TestServer) =>
    fetch(`${s.url}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    })

  it('may not ask', async () => {
    await using s = await startServer()
    expect((await preflight(s)).headers.get('access-control-allow-origin')).toBeNull()
    const answer = await s.post('/v1/completions', short, { origin })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('may not where their name was made to point here, unless they are named or have a key', async () => {
    await using s = await startServer({ corsOrigins: ['http://named.example'] })
    const ask = async (origin: string, path = '/v1/completions') =>
      (await s.post(path, { ...short, messages: [] }, { origin })).status
    expect(await ask('http://page.example:8080')).toBe(403)
    expect(await ask('http://page.example:8080', '/v1/messages')).toBe(403)
    for (const allowed of ['http://named.example', 'https://proxied.example', 'http://gpubox:8080', s.url]) {
      expect(await ask(allowed), allowed).toBe(200)
    }
    for (const allowed of ['http://localhost:1', 'http://a.localhost', 'http://[::1]:1', 'null']) {
      expect(await ask(allowed), allowed).toBe(200)
    }
    await using locked = await startServer({ apiKeys: ['key'] })
    const headers = { origin: 'http://page.example', authorization: 'Bearer key' }
    expect((await locked.post('/v1/completions', short, headers)).status).toBe(200)
  })

  it('may where they are named, in streams too, and with a key', async () => {
    await using s = await startServer({ corsOrigins: [origin], apiKeys: ['key'] })
    expect((await preflight(s)).headers.get('access-control-allow-origin')).toBe(origin)
    for (const stream of [false, true]) {
      const answer = await s.post(
        '/v1/completions',
        { ...short, stream },
        { origin, authorization: 'Bearer key' },
      )
      expect(answer.status).toBe(200)
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
      await answer.text()
    }
  })
})

it('has a histogram of times to the first token by path', async () => {
  await using s = await startServer()
  await s.post('/v1/completions', short)
  await s.post('/v1/completions', { prompt: someText(500), max_tokens: 1 })
  expect(await s.metric('h2o_ttft_seconds_count{path="dense"}')).toBe(1)
  expect(await s.metric('h2o_ttft_seconds_count{path="h2o"}')).toBe(1)
  expect(await s.metric('llamacpp:tokens_predicted_total')).toBe(3)
})
