/** The bodies of all requests have a bound in common. */

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Bodies } from '../../src/ts/server/bodies.js'
import { startServer, type TestServer, until } from './support.js'

const largest = 2 ** 24
const before = '{"prompt":"x","max_tokens":1,"user":"'
const body = Buffer.from(`${before.padEnd(largest - 2, 'a')}"}`)

/** Has sent all but the last byte. */
async function sending(s: TestServer): Promise<{ client: Socket; answer: Promise<string> }> {
  const client = connect(Number(new URL(s.url).port)).on('error', () => {})
  const answer = (async () => {
    let said = ''
    for await (const part of client) {
      said += part
      if (/^HTTP[\s\S]*\}/.test(said)) break
    }
    return said
  })()
  client.write(
    `POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${largest}\r\n\r\n`,
  )
  if (!client.write(body.subarray(0, -1))) await Promise.race([once(client, 'drain'), answer])
  return { client, answer }
}

it('four of the largest have room at once, and the largest that has not arrived gives way to others', async () => {
  await using s = await startServer({ maxBodyBytes: largest, parallel: 2 })
  const held = (bytes: number) => until(async () => (await s.metric('h2o_body_bytes')) === bytes)
  const stalled = await sending(s)
  const gone = await sending(s)
  const uploads = [await sending(s), await sending(s)]
  await held(4 * (largest - 1))
  const small = await s.post('/v1/completions', { prompt: 'x', max_tokens: 1 })
  expect(small.status).toBe(200)
  expect(await stalled.answer).toMatch(/^HTTP\/1.1 429[\s\S]*retry-after: 1\r\n[\s\S]*too_many_requests/)
  await held(3 * (largest - 1))
  gone.client.destroy()
  await held(2 * (largest - 1))
  uploads.push(await sending(s))
  for (const { client, answer } of uploads) {
    client.write(body.subarray(-1))
    expect(await answer).toMatch(/^HTTP\/1.1 200/)
    client.destroy()
  }
  await held(0)
})

it('a body of chunks of a byte takes little more than its bytes', async () => {
  const request = Object.assign(new PassThrough(), { headers: {} })
  const received = new Bodies(2 ** 20).receive(request as unknown as IncomingMessage)
  const memory = () => {
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = memory()
  for (let i = 0; i < 400_000; i++) {
    request.write(Buffer.alloc(1, 97 + (i % 26)))
    if (i % 1000 === 0) await nextTurn()
  }
  expect(memory() - before).toBeLessThan(2 ** 26) // 120 MB where each is kept
  request.end()
  const body = await received
  expect([body.length, body.toString('latin1', 0, 30)]).toEqual([400_000, 'abcdefghijklmnopqrstuvwxyzabcd'])
})
