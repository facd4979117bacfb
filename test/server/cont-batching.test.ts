/** Slots whose tokens are decoded in one call (--cont-batching): each request has its own answer, however others end. */

import { expect, it } from 'vitest'
import { someText, startServer, until } from './support.js'

// given letter by letter: sums are rounded otherwise than in a call of one's own
const spelled = (word: string) => ({
  prompt: someText(300, word.length),
  grammar: `root ::= "${word}"`,
  max_tokens: word.length,
})

interface Completion {
  choices: [{ text: string }]
}

it('answers each as asked, beside those that leave, fail, stop and have no more room', async () => {
  await using s = await startServer({ parallel: 4, context: { contBatching: true, nCtx: 1024 }, queue: 64 })
  const told = async (body: object) => {
    const response = await s.post('/v1/completions', body)
    return [response.status, ((await response.json()) as Completion).choices?.[0].text]
  }
  const leave = async (body: object) => {
    const controller = new AbortController()
    const { signal } = controller
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', signal, headers, body: JSON.stringify({ ...body, stream: true }) }
    const { body: stream } = await fetch(`${s.url}/v1/completions`, init)
    await stream?.getReader().read()
    controller.abort()
  }
  const long = { prompt: someText(900), grammar: 'root ::= "e"+', max_tokens: -1 }
  for (let round = 0; round < 4; round++) {
    const all = await Promise.all([
      told(spelled('b'.repeat(150))),
      told(spelled('a'.repeat(100))),
      told({ ...spelled(`${'c'.repeat(60)}xyz`), stop: 'xy' }),
      told({ ...spelled('d'.repeat(80)), logit_bias: { [String('d'.charCodeAt(0))]: false } }),
      told(long),
      leave(spelled('f'.repeat(90))),
      leave(long),
    ])
    expect(all.slice(0, 3)).toEqual([
      [200, 'b'.repeat(150)],
      [200, 'a'.repeat(100)],
      [200, 'c'.repeat(60)],
    ])
    expect(all[3]?.[0]).toBe(400)
    expect(all[4]).toEqual([200, 'e'.repeat(125)])
  }
  await until(async () => (await s.metric('h2o_requests_left_total')) === 8)
  expect(await s.metric('llamacpp:requests_processing')).toBe(0)
  const names = ['h2o_step_calls_total', 'h2o_steps_total', 'h2o_rows_total']
  const [calls = 0, steps, rows] = await Promise.all(names.map((name) => s.metric(name)))
  expect(calls).toBe(steps)
  expect(rows).toBeGreaterThan(1.5 * calls)
  const plain = { prompt: someText(500, 3), max_tokens: 6 }
  expect((await told(plain))[1]).toBe((await s.fresh(plain)).text) // alone, it has a fresh context's bits
})
