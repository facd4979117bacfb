// Requests of a stranger to the server: bodies that are cut, odd fields, hostile chats, tools and schemas, clients that
// leave or stop reading. Each answer has OpenAI's form and no 500; nobody else waits for it, nor gets any text of it.

import { once } from 'node:events'
import { connect } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeServer } from '../../../dist/server/server.js'
import { Draw } from '../draw.mjs'
import { tinyContext } from '../tiny.mjs'
import { promise } from '../use-model.mjs'
import { schemaOf } from './grammar.mjs'

const PATHS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/models',
  '/health',
  '/ready',
  '/metrics',
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
  'prompt messages tools tool_choice stream stop seed temperature top_p top_k n logprobs top_logprobs logit_bias grammar response_format json_schema samplers h2o functions modalities chat_template_kwargs parallel_tool_calls reasoning_format stream_options __proto__ constructor'.split(
    ' ',
  )

const canaryOf = (seed) => `canary ${seed} of ${seed * 7}`

function bodyOf(draw, seed) {
  const text = draw.pick([
    canaryOf(seed),
    canaryOf(seed),
    canaryOf(seed),
    'ab'.repeat(draw.int(1, 300)),
    draw.pick(ODD),
  ])
  const tool = () => ({
    type: 'function',
    function: { name: draw.pick(['f', 'g', '', '\ud800']), parameters: schemaOf(draw, draw.int(1, 3)) },
  })
  const body = draw.chance(0.5)
    ? { prompt: text }
    : {
        messages: draw.list(draw.pick([0, 1, 1, 2, 3]), () => ({
          role: draw.pick(['user', 'assistant', 'tool', 'x']),
          content: text,
        })),
      }
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

export function recipe(seed) {
  const draw = new Draw('http', seed)
  const json = JSON.stringify(bodyOf(draw, seed))
  return {
    kind: 'http',
    seed,
    path: draw.weighted([
      [9, PATHS[0]],
      [9, PATHS[1]],
      [2, draw.pick(PATHS)],
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

let served

async function serve() {
  const contexts = [await tinyContext(), await tinyContext()]
  const failures = []
  const server = await makeServer({
    ...{ contexts, alias: 'tiny', version: '0', template, queue: 16, timeoutMs: 10_000, stalledMs: 300 },
    defaults: { nPredict: 8, temperature: 0 },
    ...{ maxBodyBytes: 2 ** 22, apiKeys: [], corsOrigins: [], onFailure: (error) => failures.push(error) },
  })
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.app.server.address()
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const probe = await probeOf(port)
  return { port, failures, delay, probe }
}

/** A fixed request; its answer never changes. */
async function probeOf(port) {
  const body = JSON.stringify({ prompt: 'what stays the same', max_tokens: 6, ignore_eos: true })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`http://127.0.0.1:${port}/v1/completions`, { method: 'POST', headers, body })
  return (await answer.json()).choices[0].text
}

export async function run({ seed, path, method, type, body, client }) {
  served ??= await serve()
  const { port, failures, delay, probe } = served
  delay.reset()
  const bytes = Buffer.from(body)
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: x',
    'connection: close',
    `content-length: ${bytes.length}`,
  ]
  if (type) head.push(`content-type: ${type}`)
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(client === 'is cut' ? bytes.subarray(0, bytes.length >> 1) : bytes)
  const text = await outcomeOf(socket, client)
  socket.destroy()
  const began = performance.now()
  promise((await fetch(`http://127.0.0.1:${port}/health`)).status === 200, 'the server is ill')
  promise(performance.now() - began < 2000, `/health took ${performance.now() - began} ms`)
  promise(delay.max < 1e9, `the event loop was held for ${delay.max / 1e6} ms`)
  promise(failures.length === 0, String(failures.pop()?.stack))
  for (const [other] of text.matchAll(/canary \d+ of \d+/g))
    promise(other === canaryOf(seed), `a text of another: ${other}`)
  if (seed % 20 === 0) promise((await probeOf(port)) === probe, 'another answer than before')
  if (client !== 'reads') return client
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
  promise(status > 0 && (status < 500 || status === 504), `status ${status}: ${text.slice(0, 200)}`)
  if (status >= 400 && method === 'POST')
    promise(text.includes('"error"'), `no error in ${text.slice(0, 200)}`)
  return String(status)
}

async function outcomeOf(socket, client) {
  const parts = []
  if (client === 'stalls') {
    socket.pause()
    await sleep(20)
    return ''
  }
  socket.on('data', (part) => parts.push(part))
  if (client === 'reads') await once(socket, 'close', { signal: AbortSignal.timeout(15_000) })
  else await sleep(client === 'leaves' ? 15 : 50)
  return Buffer.concat(parts).toString()
}
