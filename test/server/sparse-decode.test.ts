/** Sparse decoding per request. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startServer, type TestServer } from './support.js'

const messages = [{ role: 'user' as const, content: 'a long text '.repeat(80) }]
const h2o = { local: 16, heavy: 16, denseTail: 20 }

let some: TestServer
let none: TestServer
beforeAll(async () => {
  some = await startServer({ context: { h2o: { ...h2o, decode: 12 } } })
  none = await startServer()
})
afterAll(async () => {
  for (const server of [some, none]) await server[Symbol.asyncDispose]()
})

interface Answer {
  choices: [{ message: { content: string } }]
  timings: { h2o: object }
  error: { h2o_code: string }
}

const ask = async (server: TestServer, body: object) => {
  const response = await server.post('/v1/chat/completions', { messages, max_tokens: 5, ...body })
  return { status: response.status, answer: (await response.json()) as Answer }
}

it.each<[object, object]>([
  [{}, { predicted_sparse: 4, predicted_dense_reason: null, predicted_exact: false }],
  [{ h2o: { decode: 20 } }, { predicted_sparse: 4, predicted_dense_reason: null }],
  [
    { h2o: { decode: 'auto' } },
    { predicted_sparse: 0, predicted_dense_reason: 'few-positions', predicted_exact: true },
  ],
  [{ h2o: { decode: 0 } }, { predicted_sparse: 0, predicted_dense_reason: 'off', predicted_exact: true }],
  [{ h2o: false }, { predicted_sparse: 0, predicted_dense_reason: 'off' }],
])('%j: %j', async (body, expected) => {
  const { status, answer } = await ask(some, body)
  expect(status).toBe(200)
  expect(answer.timings.h2o).toMatchObject(expected)
  expect(answer.choices[0].message.content).toBe(
    (await some.fresh({ messages, max_tokens: 5, ...body })).text,
  )
})

it.each([-1, 1.5, 'all', 2 ** 31])('decode %j is 400', async (decode) => {
  expect((await ask(some, { h2o: { decode } })).status).toBe(400)
})

it.each([false, true])('is 400 where the contexts have no index, stream: %j', async (stream) => {
  const { status, answer } = await ask(none, { h2o: { decode: 8 }, stream })
  expect(status).toBe(400)
  expect(answer.error.h2o_code).toBe('ERR_H2O_INVALID_ARGUMENT')
  expect((await ask(none, { h2o: { decode: 0 } })).status).toBe(200)
})
