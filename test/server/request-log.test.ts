/** A line for each request, and what is counted of those without a whole answer. */

import { get } from 'node:http'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { tinyModel } from '../ts/support.js'
import { someText, startServer, type TestServer, until } from './support.js'

let s: TestServer
let lines: string[]
beforeEach(async () => {
  lines = []
  const model = await tinyModel({ layers: 8, hidden: 256, heads: 4 }, 'slow')
  s = await startServer({ apiKeys: ['k'], onRequest: (line) => lines.push(line), context: { model } })
})
afterEach(() => s[Symbol.asyncDispose]())

const key = { authorization: 'Bearer k' }
/** Lines, without what they took. */
async function logged(n: number): Promise<string[]> {
  await until(() => lines.length >= n)
  return lines.map((line) => line.replace(/[\d.]+ s\b/g, '_ s'))
}

it.each([false, true])('says what an answer cost, stream: %s', async (stream) => {
  const body = { prompt: someText(300), max_tokens: 5, stream }
  for (let i = 0; i < 2; i++) await (await s.post('/v1/completions', body, key)).text()
  expect(await logged(2)).toEqual([
    'POST /v1/completions, 200, _ s, 300 tokens, 0 cached, h2o, the first after _ s, 5 generated',
    'POST /v1/completions, 200, _ s, 300 tokens, 192 cached, h2o, the first after _ s, 5 generated',
  ])
})

it('says why one was refused, and says no key, no query and nothing that breaks a line', async () => {
  await s.post('/v1/completions', {}, { 'x-api-key': 'secret' })
  await s.post('/v1/completions', { prompt: 3 }, key)
  await s.post('/v1/completions', { prompt: 'x', grammar: 'no', stream: true }, key).then((r) => r.text())
  const path = `/%0a\x7f${'a'.repeat(200)}?key=secret`
  await new Promise((resolve) => get(s.url + path.replace('\x7f', ''), { headers: key }, resolve))
  expect((await logged(4)).map((line) => line.replace(', _ s', ''))).toEqual([
    'POST /v1/completions, 401, invalid_api_key',
    'POST /v1/completions, 400, invalid_request',
    'POST /v1/completions, 200, ERR_H2O_INVALID_ARGUMENT',
    `GET /%0a${'a'.repeat(96)}, 404, not_found`,
  ])
  expect(lines.join()).not.toContain('secret')
})

it('is silent about probes', async () => {
  for (const path of ['/health', '/v1/health', '/ready', '/metrics', '/slots']) {
    await (await fetch(s.url + path, { headers: key })).text()
  }
  expect(await logged(1)).toEqual(['GET /slots, 200, _ s'])
})

it('says how far a request came whose client left, and counts it', async () => {
  const metric = async (name: string) => {
    const text = await (await fetch(`${s.url}/metrics`, { headers: key })).text()
    return Number(new RegExp(`^${name} (.*)`, 'm').exec(text)?.[1])
  }
  const controller = new AbortController()
  const { signal } = controller
  const body = JSON.stringify({ prompt: someText(7000), max_tokens: 1000, stream: true })
  const headers = { ...key, 'content-type': 'application/json' }
  const asked = fetch(`${s.url}/v1/completions`, { method: 'POST', headers, body, signal })
  const failed = asked.then((response) => response.text()).catch(() => 'left')
  await until(() => (s.slots[0]?.position ?? 0) > 1000)
  controller.abort()
  expect(await failed).toBe('left')
  const [line] = await logged(1)
  const [, read] =
    /^POST \/v1\/completions, the client left, _ s, 7000 tokens, 0 cached, (\d+) read, 0 generated$/.exec(
      line as string,
    ) ?? []
  expect(Number(read)).toBeGreaterThan(500)
  await until(async () => (await metric('llamacpp:requests_processing')) === 0)
  expect(await metric('llamacpp:prompt_tokens_total')).toBeGreaterThanOrEqual(Number(read))
  expect(await metric('llamacpp:prompt_seconds_total')).toBeGreaterThan(0)
  expect(await metric('llamacpp:tokens_predicted_total')).toBe(0)
})
