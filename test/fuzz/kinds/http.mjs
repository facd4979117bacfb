// Requests of strangers to the server, one or a crowd at a time: bodies that are cut, odd fields, hostile chats, tools and
// schemas, clients that leave or stop reading. Each answer has OpenAI's form and no 500; nobody else waits for it, nor gets
// any text of it. What a healthy request of a crowd is answered, it is answered alone.

import { once } from 'node:events'
import { connect } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeServer } from '../../../dist/server/server.js'
import { tinyContext } from '../tiny.mjs'
import { promise } from '../use-model.mjs'
import { schemaOf } from './grammar.mjs'

const PATHS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/responses',
  '/completion',
  '/apply-template',
  '/tokenize',
  '/detokenize',
  '/props',
  '/slots',
  '/v1/models',
  '/v1/models/%00',
  '/health',
  '/ready',
  '/metrics',
  '/v1/embeddings',
  '/v1/x',
]
const template =
  "{%- if tools %}{{ tools | tojson }}{% endif %}{%- for m in messages %}{{ '[' + m.role + ']' + m.content }}{%- endfor %}" +
  '{%- if add_generation_prompt %}[assistant]{% endif %}'
const ODD = [
  null,
  true,
  -1,
  0,
  1,
  2,
  0.5,
  1e9,
  1e308,
  '',
  'x',
  '\ud800',
  '\0',
  'é'.repeat(300),
  [],
  {},
  [[]],
  [null],
  { a: 1 },
  { toString: 1 },
  { type: 'function' },
  'a'.repeat(5000),
  [[1, 2]],
  ['x', 1],
  { role: 'user', content: 'x' },
]
const FIELDS =
  'prompt messages tools tool_choice stream stop seed temperature top_p top_k n logprobs top_logprobs logit_bias grammar response_format json_schema samplers h2o functions modalities chat_template_kwargs parallel_tool_calls reasoning_format stream_options system input instructions stop_sequences thinking output_config text reasoning max_output_tokens return_progress continue_final_message content tokens __proto__ constructor'.split(
    ' ',
  )

/** What servers there are: without keys, with keys that share what was read, with keys that do not. */
const SERVERS = ['open', 'keys', 'separate keys']
const KEYS = Array.from({ length: 16 }, (_, i) => `key-${i}`)

const canaryOf = (id) => `<canary ${id}>`

function bodyOf(draw, id) {
  const text = draw.pick([
    canaryOf(id),
    canaryOf(id),
    canaryOf(id),
    'ab'.repeat(draw.int(1, 300)),
    draw.pick(ODD),
  ])
  const tool = () => ({
    type: 'function',
    function: { name: draw.pick(['f', 'g', '', '\ud800']), parameters: schemaOf(draw, draw.int(1, 3)) },
  })
  const part = () => ({
    type: draw.pick(['text', 'input_text', 'tool_use', 'tool_result', 'thinking', 'image', draw.pick(ODD)]),
    text,
    ...(draw.chance(0.3) && { content: draw.pick(ODD), input: draw.pick(ODD), source: draw.pick(ODD) }),
  })
  const messages = () =>
    draw.list(draw.pick([0, 1, 1, 2, 3]), () => ({
      role: draw.pick(['user', 'assistant', 'tool', 'x']),
      content: draw.chance(0.8) ? text : draw.list(2, part),
      ...(draw.chance(0.1) && {
        type: draw.pick(['function_call', 'function_call_output', 'reasoning', 'x']),
      }),
      ...(draw.chance(0.1) && {
        tool_calls: draw.pick(ODD),
        arguments: draw.pick(ODD),
        output: draw.pick(ODD),
      }),
    }))
  const body = draw.pick([
    () => ({ prompt: text }),
    () => ({ prompt: text }),
    () => ({ messages: messages() }),
    () => ({ messages: messages() }),
    () => ({ input: draw.chance(0.5) ? text : messages() }),
    () => ({ content: text, tokens: draw.list(3, () => draw.pick([1, 2, draw.pick(ODD)])) }),
  ])()
  body.max_tokens = draw.int(1, 8)
  if (draw.chance(0.4)) body.stream = true
  if (draw.chance(0.3)) body.tools = draw.list(draw.int(1, 4), tool)
  if (draw.chance(0.2)) body.json_schema = schemaOf(draw, 2)
  for (let i = draw.pick([0, 0, 0, 1, 2]); i > 0; i--) body[draw.pick(FIELDS)] = draw.pick(ODD)
  return body
}

/** What JSON.stringify would not write. */
function damaged(draw, text) {
  const at = draw.int(0, text.length)
  return draw.weighted([
    [2, () => text.slice(0, at)],
    [2, () => text.slice(0, at) + draw.pick(['{', '[', '"', ',', '\\', '\u0001', '}']) + text.slice(at)],
    [1, () => '['.repeat(draw.pick([10, 1000, 300_000]))],
    [1, () => `{"prompt":"x"${',"a":1'.repeat(draw.pick([10, 90_000, 120_000]))}}`],
    [1, () => `{"prompt":[${'1,'.repeat(draw.pick([10, 200_000]))}1]}`],
  ])()
}

function requestOf(draw, id) {
  const json = JSON.stringify(bodyOf(draw, id))
  return {
    id,
    path: draw.weighted([
      [9, PATHS[0]],
      [9, PATHS[1]],
      [9, draw.pick(PATHS)],
    ]),
    method: draw.chance(0.95) ? 'POST' : draw.pick(['GET', 'PUT', 'OPTIONS', 'BREW']),
    type: draw.chance(0.95) ? 'application/json' : draw.pick(['text/plain', '', 'application/xml']),
    body: draw.chance(0.25) ? damaged(draw, json) : json,
    /** reads it all; leaves in the middle; says less than it promised; stops reading */
    client: draw.weighted([
      [8, 'reads'],
      [2, 'leaves'],
      [1, 'is cut'],
      [1, 'stalls'],
    ]),
  }
}

/** One whose prompt holds its canary, and whose answer may have to. */
function healthyRequest(draw, id) {
  const text = `${draw.pick(['', 'b'.repeat(200)])}${canaryOf(id)}${'a'.repeat(draw.int(0, 200))}`
  const isChat = draw.chance(0.5)
  const body = {
    ...(isChat ? { messages: [{ role: 'user', content: text }] } : { prompt: text }),
    ...(draw.chance(0.5) && { grammar: `root ::= "${canaryOf(id)}"` }),
    max_tokens: 24,
    stream: draw.chance(0.5),
  }
  const path = PATHS[isChat ? 0 : 1]
  const json = JSON.stringify(body)
  return { id, path, method: 'POST', type: 'application/json', body: json, client: 'reads', isHealthy: true }
}

export function recipe(draw, seed) {
  const id = (i) => seed * 100 + i
  const crowd = (i) => (draw.chance(0.6) ? healthyRequest(draw, id(i)) : requestOf(draw, id(i)))
  return {
    kind: 'http',
    seed,
    server: draw.pick(SERVERS),
    requests: draw.chance(0.1) ? draw.list(draw.int(8, 16), crowd) : [requestOf(draw, id(0))],
  }
}

const servers = new Map()

async function serve(name) {
  const context = await tinyContext({ parallel: 2 })
  const failures = []
  const server = await makeServer({
    ...{ context, alias: 'tiny', version: '0', template, queue: 16, timeoutMs: 10_000, stalledMs: 300 },
    defaults: { nPredict: 8, temperature: 0 },
    ...{ apiKeys: name === 'open' ? [] : KEYS, separateKeys: name === 'separate keys' },
    ...{
      maxBodyBytes: 2 ** 22,
      cacheBytes: 2 ** 22,
      corsOrigins: [],
      onFailure: (error) => failures.push(error),
    },
  })
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.app.server.address()
  return { port, failures, probe: saidIn(await ask(port, PROBE)) }
}

const delay = monitorEventLoopDelay({ resolution: 10 })

/** Its answer never changes. */
const PROBE = {
  ...{ id: 0, path: '/v1/completions', method: 'POST', type: 'application/json', client: 'reads' },
  body: JSON.stringify({ prompt: 'what stays the same', max_tokens: 6, ignore_eos: true }),
}

export async function run({ seed, server, requests }) {
  if (!servers.has(server)) servers.set(server, await serve(server))
  delay.enable()
  const { port, failures, probe } = servers.get(server)
  delay.reset()
  const answers = await Promise.all(requests.map((request) => ask(port, request)))
  const began = performance.now()
  promise((await fetch(`http://127.0.0.1:${port}/health`)).status === 200, 'the server is ill')
  promise(performance.now() - began < 2000, `/health took ${performance.now() - began} ms`)
  promise(delay.max < 1e9, `the event loop was held for ${delay.max / 1e6} ms`)
  promise(failures.length === 0, String(failures.pop()?.stack))
  const outcomes = requests.map((request, i) => outcomeOf(request, answers[i]))
  for (const [i, request] of requests.entries()) {
    if (!request.isHealthy || outcomes[i] !== '200') continue
    const alone = await ask(port, request)
    promise(saidIn(alone) === saidIn(answers[i]), `another answer in a crowd: ${saidIn(answers[i])}`)
  }
  if (seed % 20 === 0) promise(saidIn(await ask(port, PROBE)) === probe, 'another answer than before')
  return requests.length > 1 ? `a crowd of ${requests.length}` : outcomes[0]
}

/** What came back, as it came. */
async function ask(port, { id, path, method, type, body, client }) {
  const bytes = Buffer.from(body)
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: x',
    'connection: close',
    `authorization: Bearer ${KEYS[id % KEYS.length]}`,
    `content-length: ${bytes.length}`,
  ]
  if (type) head.push(`content-type: ${type}`)
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(client === 'is cut' ? bytes.subarray(0, bytes.length >> 1) : bytes)
  const parts = []
  if (client === 'stalls') socket.pause()
  else socket.on('data', (part) => parts.push(part))
  if (client === 'reads') await once(socket, 'close', { signal: AbortSignal.timeout(15_000) })
  else await sleep({ leaves: 15, stalls: 20, 'is cut': 50 }[client])
  socket.destroy()
  return Buffer.concat(parts).toString()
}

/** The text of an answer, streamed or not. */
function saidIn(text) {
  const strings = text.matchAll(/"(?:text|content)":("(?:[^"\\]|\\.)*")/g)
  return [...strings].map(([, json]) => JSON.parse(json)).join('')
}

function outcomeOf({ id, method, client }, text) {
  for (const [other] of text.matchAll(/<canary \d+>/g))
    promise(other === canaryOf(id), `a text of another: ${other}`)
  if (client !== 'reads') return client
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
  promise(
    status > 0 && (status < 500 || status === 501 || status === 504),
    `status ${status}: ${text.slice(0, 200)}`,
  )
  if (status >= 400 && method === 'POST')
    promise(text.includes('"error"'), `no error in ${text.slice(0, 200)}`)
  return String(status)
}
