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

it('four of the largest have room at once, another one has when they are answered or gone', async () => {
  await using s = await startServer({ maxBodyBytes: largest, parallel: 2 })
  const small = async () => (await s.post('/v1/completions', { prompt: 'x', max_tokens: 1 })).status
  const held = (bytes: number) => until(async () => (await s.metric('h2o_body_bytes')) === bytes)
  const gone = await Promise.all([sending(s), sending(s), sending(s)])
  const uploads = [await sending(s)]
  await held(4 * (largest - 1))
  expect(await small()).toBe(429)
  const refused = await (await sending(s)).answer
  expect(refused).toMatch(/^HTTP\/1.1 429[\s\S]*retry-after: 1\r\n[\s\S]*too_many_requests/)
  for (const { client } of gone) client.destroy()
  await held(largest - 1)
  expect(await small()).toBe(200)
  uploads.push(await sending(s))
  for (const { client, answer } of uploads) {
    client.write(body.subarray(-1))
    expect(await answer).toMatch(/^HTTP\/1.1 200/)
    client.destroy()
  }
  await held(0)
})
