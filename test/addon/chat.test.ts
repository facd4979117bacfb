/** Chat messages in a model's template, and answers that end where they should. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadModel, type Model } from '../../src/ts/index.js'
import { StopStrings } from '../../src/ts/stop-strings.js'
import { collect, someTokens, tinyContext, tinyModel } from './support.js'

const chatml =
  "{%- for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- endif %}"
const user = [{ role: 'user', content: 'Hello' }]

let model: Model
beforeAll(async () => {
  const metadata = { 'tokenizer.chat_template': { type: 'string', value: chatml } } as const
  model = await loadModel(await tinyModel({ metadata }))
})
afterAll(() => model.dispose())

describe('formatChat', () => {
  it("renders messages in the file's template, and what it asks for", () => {
    expect(model.chatTemplate).toBe(chatml)
    expect(model.formatChat([{ role: 'system', content: 'Short.' }, ...user])).toBe(
      '<|im_start|>system\nShort.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n',
    )
    expect(model.formatChat(user, { addGenerationPrompt: false })).toBe('<|im_start|>user\nHello<|im_end|>\n')
    const template = '{% for t in tools %}{{ t.function.name }} {% endfor %}{{ mood }} {{ eos_token }}'
    const tools = [{ type: 'function', function: { name: 'weather' } }]
    expect(model.formatChat(user, { template, tools, variables: { mood: 'off' } })).toBe(
      'weather off <|endoftext|>',
    )
  })

  it('leaves out a BOS that the tokenizer adds', async () => {
    const template = '{{ bos_token }}{{ messages[0].content }}'
    const formatted = async (addBos: boolean) => {
      const metadata = { 'tokenizer.ggml.add_bos_token': { type: 'bool', value: addBos } } as const
      await using loaded = await loadModel(await tinyModel({ metadata }))
      return loaded.formatChat(user, { template })
    }
    expect(await formatted(true)).toBe('Hello')
    expect(await formatted(false)).toBe('<s>Hello')
  })

  it.each<[string, unknown, object, string]>([
    [
      'a template that raises',
      user,
      { template: '{{ raise_exception("roles must alternate") }}' },
      'ERR_H2O_CHAT_TEMPLATE',
    ],
    ['a template that is none', user, { template: '{% if %}' }, 'ERR_H2O_CHAT_TEMPLATE'],
    [
      'a template that recurses for ever',
      user,
      { template: '{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}' },
      'ERR_H2O_CHAT_TEMPLATE',
    ],
    ['a template too deep', user, { template: `{{ ${'('.repeat(50_000)}` }, 'ERR_H2O_CHAT_TEMPLATE'],
    ['a template too long', user, { template: ' '.repeat(300_000) }, 'ERR_H2O_CHAT_TEMPLATE'],
    ['no messages', [], {}, 'ERR_H2O_INVALID_ARGUMENT'],
    ['no list', 'Hello', {}, 'ERR_H2O_INVALID_ARGUMENT'],
    ['no role', [{ content: 'Hello' }], {}, 'ERR_H2O_INVALID_ARGUMENT'],
    ['content that is none', [{ role: 'user', content: 5 }], {}, 'ERR_H2O_INVALID_ARGUMENT'],
  ])('refuses %s', (_, messages, options, code) => {
    const call = () => model.formatChat(messages as typeof user, options)
    expect(call).toThrow(expect.objectContaining({ code }))
  })

  it('refuses a model without a template', async () => {
    await using bare = await loadModel(await tinyModel())
    expect(() => bare.formatChat(user)).toThrow(expect.objectContaining({ code: 'ERR_H2O_CHAT_TEMPLATE' }))
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

  it('leave as many log-probabilities as tokens', async () => {
    await using context = await tinyContext()
    const options = { grammar: 'root ::= "ab"', stop: 'abc', logprobs: 0 }
    const likely: number[] = []
    let text = ''
    let predicted = 0
    const generation = context.generate(someTokens(50), options)
    for (;;) {
      const next = await generation.next()
      if (next.done) {
        predicted = next.value.predicted
        break
      }
      text += next.value.text
      if (next.value.logprob !== undefined) likely.push(next.value.logprob)
    }
    expect([text, likely.length]).toEqual(['ab', predicted])
  })
})
