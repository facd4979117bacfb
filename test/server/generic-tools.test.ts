/** Tools for a template that knows none: described, called and answered in a generic form. */

import type OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { weather } from '../addon/text/tool-template.js'
import { startServer, type TestServer } from './support.js'

const template =
  "{%- for m in messages %}{{ '[' + m.role + ']' + m.content + '\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '[assistant]' }}{%- endif %}"
/** Users and assistants by turns, as Gemma's does. */
const strict = `{%- for m in messages %}{%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('by turns') }}{%- endif %}{%- endfor %}${template}`

let s: TestServer
beforeAll(async () => {
  s = await startServer({ template, defaults: { nPredict: 200, temperature: 0 } })
})
afterAll(() => s[Symbol.asyncDispose]())

/** Of the model maker's bytes: white space alone where no other byte may come. */
const tight = { '9': -100, '10': -100, '32': -100 }

const user = (content: string) => ({ role: 'user' as const, content })
const messages: OpenAI.ChatCompletionMessageParam[] = [user('How is it in Rome?')]
const call = (id: string, city: string) => ({
  id,
  type: 'function' as const,
  function: { name: 'weather', arguments: JSON.stringify({ city }) },
})
const history: OpenAI.ChatCompletionMessageParam[] = [
  ...messages,
  { role: 'assistant', content: 'I ask.', tool_calls: [call('a', 'Rome'), call('b', 'Paris')] },
  { role: 'tool', tool_call_id: 'a', content: '31 degrees' },
  { role: 'tool', tool_call_id: 'b', content: '20 degrees' },
]

async function prompt(body: object, server = s): Promise<string> {
  return ((await (await server.post('/apply-template', body)).json()) as { prompt: string }).prompt
}

it('are described before the first question, or in the system message', async () => {
  const tools = [weather]
  const own = await prompt({ messages, tools })
  expect(own).toMatch(
    /^\[user\]You can call functions[\s\S]*"name": "weather"[\s\S]*\n\nHow is it in Rome\?\n\[assistant\]$/,
  )
  const system = await prompt({ messages: [{ role: 'system', content: 'Be kind.' }, ...messages], tools })
  expect(system).toMatch(/^\[system\]Be kind\.\n\nYou can call[\s\S]*<\/call>\n\[user\]How is it in Rome\?\n/)
  const plain = '[user]How is it in Rome?\n[assistant]'
  expect(await prompt({ messages, tools, tool_choice: 'none' })).toBe(plain)
  expect(await prompt({ messages })).toBe(plain)
})

it.each([
  ['any', template],
  ['one that wants users and assistants by turns', strict],
])('calls and results stay in the history: %s', async (_, template) => {
  await using server = await startServer({ template })
  for (const tools of [[weather], undefined]) {
    const written = await prompt({ messages: history, tools }, server)
    const answered = written.slice(written.indexOf('[assistant]'))
    expect(answered).toBe(
      '[assistant]I ask.\n<call>{"name": "weather", "arguments": {"city": "Rome"}}</call>\n' +
        '<call>{"name": "weather", "arguments": {"city": "Paris"}}</call>\n' +
        '[user]<result>\n31 degrees\n</result>\n<result>\n20 degrees\n</result>\n[assistant]',
    )
  }
})

describe('a call', () => {
  // the model of the tests would never begin one by itself
  const begun = { role: 'assistant' as const, content: '<call>' }
  const asked = {
    model: 'any',
    messages: [...messages, begun],
    tools: [weather],
    tool_choice: 'required' as const,
    logit_bias: tight,
    max_tokens: 70, // a call, and the beginning of another one
  }
  const isCity = (text: string) => ['Paris', 'Rome'].includes(JSON.parse(text).city)

  it('keeps to the schema and is read, whole and streamed', async () => {
    const { choices } = await s.openai.chat.completions.create(asked)
    const [whole] = choices[0]?.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
    expect(whole).toMatchObject({ type: 'function', function: { name: 'weather' } })
    expect(whole?.function.arguments).toSatisfy(isCity)
    const streamed = await s.openai.chat.completions.stream(asked).finalChatCompletion()
    const [same] = streamed.choices[0]?.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
    expect(same?.function.name).toBe('weather')
    expect(same?.function.arguments).toBe(whole?.function.arguments)
  })
})
