/** Texts that take much memory while they become tokens, and schemas while they become grammars: one after the other. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Model } from '../../src/ts/model.js'
import type { RequestBody } from '../../src/ts/server/fields.js'
import { chatOf, type PromptSettings, tokensOf } from '../../src/ts/server/prompt.js'

const { signal } = new AbortController()

/** How many of `n` were with the model at once. */
async function mostOf(n: number, ask: (settings: PromptSettings) => Promise<unknown>): Promise<number> {
  let [now, most] = [0, 0]
  const work = async () => {
    most = Math.max(most, ++now)
    await nextTurn()
    now--
    return Int32Array.of(1)
  }
  const model = { tokenizeAsync: work, applyChatTemplateAsync: () => work().then(() => ({ prompt: '' })) }
  await Promise.all(Array.from({ length: n }, () => ask({ model, maxText: 1 } as unknown as PromptSettings)))
  return most
}

const mostAtOnce = (text: string, n: number) => mostOf(n, (settings) => tokensOf(text, settings, signal))

it('tools and schemas wait for each other, other chats do not', async () => {
  const messages = [{ role: 'user', content: 'hello' }]
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const chats = (body: object, options = {}) =>
    mostOf(5, (settings) => chatOf({ messages, ...body } as RequestBody, settings, signal, options))
  expect(await chats({ tools })).toBe(1)
  expect(await chats({}, { jsonSchema: {} })).toBe(1)
  expect(await chats({}, { grammar: 'root ::= "a"' })).toBe(1)
  expect(await chats({ tools: [] })).toBe(5)
  expect(await chats({ tools, tool_choice: 'none' })).toBe(5)
})

it('long ones wait for each other, short ones do not', async () => {
  expect(await mostAtOnce('x'.repeat(2 ** 18), 5)).toBe(1)
  expect(await mostAtOnce('x', 5)).toBe(5)
})

it('one that fails, or that nobody waits for any more, lets the next one go on', async () => {
  const model = { tokenizeAsync: () => Promise.reject(new Error('no')) } as unknown as Model
  const text = 'x'.repeat(2 ** 18)
  await expect(tokensOf(text, { model }, signal)).rejects.toThrow('no')
  await expect(tokensOf(text, { model }, AbortSignal.abort(new Error('left')))).rejects.toThrow('left')
  expect(await mostAtOnce(text, 2)).toBe(1)
})
