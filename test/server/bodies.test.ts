/** The bodies of all requests have a bound in common. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, it } from 'vitest'
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
