/** Answers that are drafted from their prompts (`--spec-type`). */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startServer, type TestServer } from './support.js'

const sentence = 'Quite a long line, which stands once in the prompt: 0123456789 abcdefghijklmnopqrstuvwxyz.'
const body = {
  prompt: `${sentence} Again: `,
  grammar: `root ::= ${JSON.stringify(sentence)}`,
  n_predict: 200,
}

const servers: TestServer[] = []
beforeAll(async () => {
  const defaults = { temperature: 0, ignoreEos: true }
  servers.push(await startServer({ defaults: { ...defaults, specType: 'ngram-simple' } }))
  servers.push(await startServer({ defaults }))
})
afterAll(async () => {
  for (const server of servers) await server[Symbol.asyncDispose]()
})

it('are those of a server without, and timings say so', async () => {
  const [drafted, plain] = await Promise.all(
    servers.map(async (server) => {
      const answer = (await (await server.post('/completion', body)).json()) as Record<string, unknown>
      const [slot] = (await (await fetch(`${server.url}/slots`)).json()) as { speculative: boolean }[]
      return { content: answer.content, timings: answer.timings as object, speculative: slot?.speculative }
    }),
  )
  expect(drafted).toMatchObject({ content: sentence, speculative: true })
  expect(plain).toMatchObject({ content: sentence, speculative: false })
  expect(drafted?.timings).toMatchObject({
    draft_n: expect.any(Number),
    draft_n_accepted: expect.any(Number),
  })
  expect(drafted?.timings).toHaveProperty('predicted_n', sentence.length)
  expect(plain?.timings).not.toHaveProperty('draft_n')
})
