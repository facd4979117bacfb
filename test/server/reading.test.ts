/** Answers as they grow: what a client is told of a long one, and how often all of it is read for that. */

import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { Chat, ChatAnswer, Context, MessageDelta } from '../../src/ts/index.js'
import { readingOf } from '../../src/ts/server/reading.js'
import type { GenerateSummary } from '../../src/ts/types.js'
import { toolContext, weather } from '../addon/text/tool-template.js'

let context: Context
beforeAll(async () => {
  context = await toolContext()
})
afterAll(() => context.dispose())

it('is read off the main thread, and seldom, behind a long message that it continues', async () => {
  const begun = 'word '.repeat(20_000)
  const chat = context.model.applyChatTemplate(
    [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: begun },
    ],
    { continueFinalMessage: true },
  )
  const nothing = { message: { role: 'assistant', content: '' }, deltas: [] }
  const read = vi.fn(() => nothing)
  const readAsync = vi.fn(async () => nothing)
  const answer = () => ({ read, readAsync })
  const reading = readingOf({ chat: { answer, continued: chat.continued } as unknown as Chat } as never)
  for (let i = 0; i < 1000; ++i) await reading.push('a ')
  expect(chat.continued).toBe(begun.length)
  expect(read).not.toHaveBeenCalled()
  expect(readAsync).toHaveBeenCalled()
  expect(readAsync.mock.calls.length).toBeLessThan(10)
})

it('adds up, and the time for it does not grow with the square of its length', async () => {
  const chat = context.model.applyChatTemplate([{ role: 'user', content: 'Hi' }], { tools: [weather] })
  const lengths: number[] = []
  const counted = (answer: ChatAnswer): ChatAnswer => ({
    read(text, partial) {
      lengths.push(text.length)
      return answer.read(text, partial)
    },
    readAsync(text, partial) {
      lengths.push(text.length)
      return answer.readAsync(text, partial)
    },
  })
  const reading = readingOf({ chat: { answer: () => counted(chat.answer()), continued: 0 } as Chat } as never)
  const call = `~{"name": "weather", "arguments": {"city": "${'Paris '.repeat(10_000)}"}}~`
  const text = `<think>${'hm '.repeat(3000)}</think>${call}`
  const deltas: MessageDelta[] = []
  for (let at = 0; at < text.length; at += 4) deltas.push(...(await reading.push(text.slice(at, at + 4))))
  const { message, deltas: last } = await reading.end({ text, stop: 'eos' } as GenerateSummary)

  const all = [...deltas, ...last]
  expect(all.map(({ reasoning_content = '' }) => reasoning_content).join('')).toBe(message.reasoning_content)
  const json = all.map(({ tool_calls }) => tool_calls?.[0]?.function.arguments ?? '').join('')
  expect(json).toBe(message.tool_calls?.[0]?.function.arguments)
  expect(JSON.parse(json).city).toHaveLength(60_000)
  // as 300 times all of it, and not 8600
  expect(lengths.reduce((a, b) => a + b)).toBeLessThan(300 * text.length)
  expect(lengths.length).toBeGreaterThan(1000)
})
