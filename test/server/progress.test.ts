/** `return_progress`: what a client sees of a prompt that is being read. */

import { expect, it } from 'vitest'
import { tinyModel } from '../ts/support.js'
import { chatting, someText, startServer, type TestServer } from './support.js'

interface Piece {
  prompt_progress?: { total: number; cache: number; processed: number; time_ms: number; path: string | null }
  choices: { delta?: { content?: string }; text?: string }[]
}

async function pieces(s: TestServer, path: string, body: object): Promise<Piece[]> {
  const text = await (await s.post(path, { ...body, stream: true, max_tokens: 4 })).text()
  const events = text.split('\n\n').filter((event) => event.startsWith('data: {'))
  return events.map((event) => JSON.parse(event.slice('data: '.length)))
}

const slow = () => tinyModel({ ...chatting, layers: 8, hidden: 256, heads: 4 }, 'slow-chatting')

it.each([
  ['/v1/chat/completions', (content: string) => ({ messages: [{ role: 'user', content }] })],
  ['/v1/completions', (prompt: string) => ({ prompt })],
])('%s tells how far it is, and says the same', async (path, body) => {
  await using s = await startServer({ context: { model: await slow() } })
  const text = someText(4000)
  const asked = { ...body(text), return_progress: true }
  const first = await pieces(s, path, asked)
  const told = first.flatMap(({ prompt_progress }) => prompt_progress ?? [])
  const { prefill } = await s.fresh(body(text))
  const total = prefill.tokens
  expect(told.length).toBeGreaterThan(3)
  expect(told.at(-1)).toMatchObject({ total, cache: 0, processed: total, path: 'h2o' })
  for (const [i, { processed, time_ms }] of told.entries()) {
    expect(processed).toBeGreaterThan(told[i - 1]?.processed ?? 0)
    expect(time_ms).toBeGreaterThanOrEqual(told[i - 1]?.time_ms ?? 0)
  }
  const said = first.findIndex(({ choices: [choice] }) => choice?.delta?.content || choice?.text)
  expect(first.findLastIndex(({ prompt_progress }) => prompt_progress)).toBeLessThan(said)

  // what is there already counts as processed
  const again = await pieces(s, path, { ...body(`${text} and then?`), return_progress: true })
  const now = again.flatMap(({ prompt_progress }) => prompt_progress ?? [])
  expect(now[0]?.cache).toBeGreaterThan(3000)
  expect(now[0]?.processed).toBeGreaterThan(now[0]?.cache ?? 0)
  expect(now.at(-1)?.processed).toBe(now[0]?.total)

  const dense = await pieces(s, path, { ...body(text.slice(1, 500)), return_progress: true, h2o: false })
  expect(dense.findLast(({ prompt_progress }) => prompt_progress)?.prompt_progress?.path).toBe('dense')
})

it('says nothing of it unless it is asked', async () => {
  await using s = await startServer()
  const all = await pieces(s, '/v1/completions', { prompt: someText(1000) })
  expect(all.filter((piece) => 'prompt_progress' in piece)).toEqual([])
})
