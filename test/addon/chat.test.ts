/** Chat messages in a model's template, and answers that end where they should. */

import { describe, expect, it } from 'vitest'
import { formatChat } from '../../src/ts/chat.js'
import { loadModel } from '../../src/ts/index.js'
import { StopStrings } from '../../src/ts/stop-strings.js'
import { collect, someTokens, tinyContext, tinyModel } from './support.js'

const chatml =
  "{%- for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- endif %}"
const model = { chatTemplate: chatml, bos: '<s>', eos: '</s>', addBos: true }
const user = [{ role: 'user', content: 'Hello' }]

describe('formatChat', () => {
  it('renders messages, system and tools, and what the template asks for', () => {
    expect(formatChat(model, [{ role: 'system', content: 'Short.' }, ...user], {})).toBe(
      '<|im_start|>system\nShort.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n',
    )
    expect(formatChat(model, user, { addGenerationPrompt: false })).toBe(
      '<|im_start|>user\nHello<|im_end|>\n',
    )
    const template =
      '{% for t in tools %}{{ t.function.name }} {% endfor %}{{ enable_thinking }} {{ eos_token }}'
    const tools = [{ type: 'function', function: { name: 'weather' } }]
    expect(formatChat(model, user, { template, tools, variables: { enable_thinking: 'off' } })).toBe(
      'weather off </s>',
    )
  })

  it('leaves out a BOS that the tokenizer adds', () => {
    const template = '{{ bos_token }}{{ messages[0].content }}'
    expect(formatChat(model, user, { template })).toBe('Hello')
    expect(formatChat({ ...model, addBos: false }, user, { template })).toBe('<s>Hello')
  })

  it.each<[string, unknown, object, string]>([
    ['no template', user, {}, 'ERR_H2O_CHAT_TEMPLATE'],
    [
      'a template that raises',
      user,
      { template: '{{ raise_exception("roles must alternate") }}' },
      'ERR_H2O_CHAT_TEMPLATE',
    ],
    ['a template that is none', user, { template: '{% if %}' }, 'ERR_H2O_CHAT_TEMPLATE'],
    ['no messages', [], { template: chatml }, 'ERR_H2O_INVALID_ARGUMENT'],
    ['no list', 'Hello', { template: chatml }, 'ERR_H2O_INVALID_ARGUMENT'],
    ['no role', [{ content: 'Hello' }], { template: chatml }, 'ERR_H2O_INVALID_ARGUMENT'],
  ])('refuses %s', (_, messages, options, code) => {
    const call = () => formatChat({ ...model, chatTemplate: null }, messages as typeof user, options)
    expect(call).toThrow(expect.objectContaining({ code }))
  })

  it("takes the file's template", async () => {
    const metadata = { 'tokenizer.chat_template': { type: 'string', value: chatml } } as const
    const path = await tinyModel({ metadata })
    await using loaded = await loadModel(path)
    expect(loaded.chatTemplate).toBe(chatml)
    expect(loaded.formatChat(user)).toContain('<|im_start|>user\nHello<|im_end|>')
  })
})

describe('stop strings', () => {
  const through = (stops: string[], pieces: string[]) => {
    const stream = new StopStrings(stops)
    const out: string[] = []
    for (const piece of pieces) {
      out.push(stream.push(piece))
      if (stream.found) break
    }
    return { text: out.join('') + stream.flush(), found: stream.found, out }
  }

  it('end the text wherever pieces are cut', () => {
    const text = 'one two\nUser: three'
    for (let i = 0; i <= text.length; i++) {
      for (let j = i; j <= text.length; j++) {
        const pieces = [text.slice(0, i), text.slice(i, j), text.slice(j)]
        expect(through(['\nUser:', 'four'], pieces)).toMatchObject({ text: 'one two', found: true })
      }
    }
  })

  it('hold back no more than could become one, and lose nothing', () => {
    expect(through(['abab'], ['xab', 'ay']).out).toEqual(['x', 'abay'])
    expect(through(['abab'], ['aab', 'aba'])).toMatchObject({ text: 'a', found: true })
    expect(through(['END'], ['the E', 'N'])).toMatchObject({ text: 'the EN', found: false })
    expect(through([], ['a', 'b'])).toMatchObject({ text: 'ab', found: false })
    expect(through(['ab', 'a'], ['xab'])).toMatchObject({ text: 'x', found: true })
  })

  it('end a generation, and say so', async () => {
    await using context = await tinyContext()
    const options = { temperature: 0, ignoreEos: true, nPredict: 40 }
    const free = await collect(context.generate(someTokens(50), options))
    const stop = free.summary.text.slice(12, 15)
    const at = free.summary.text.indexOf(stop)
    const { texts, summary } = await collect(context.generate(someTokens(50), { ...options, stop }))
    expect(summary).toMatchObject({ stop: 'stop', text: free.summary.text.slice(0, at) })
    expect(texts.join('')).toBe(summary.text)
    expect(summary.predicted).toBeLessThan(40)
    for (const bad of ['', [''], 3]) {
      await expect(context.generate('a', { stop: bad as string }).next()).rejects.toMatchObject({
        code: 'ERR_H2O_INVALID_ARGUMENT',
      })
    }
  })
})
