/** Chat messages in a model's template, and answers that end where they should. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadModel, type Model } from '../../../src/ts/index.js'
import { Random } from '../../../src/ts/model-maker/index.js'
import { StopStrings } from '../../../src/ts/stop-strings.js'
import { collect, someTokens, tinyContext, tinyModel } from '../support.js'

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
    for (const variables of [new Map([['mood', 'off']]), ['mood'], 5, 'mood']) {
      expect(() => model.formatChat(user, { template, variables: variables as never })).toThrow(
        expect.objectContaining({ code: 'ERR_H2O_INVALID_ARGUMENT' }),
      )
    }
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

  const twice = (line: string) =>
    `{% set ns = namespace(x=(1, 2)) %}{% for i in range(60) %}{% set ns.x = ${line} %}{% endfor %}`
  it.each([
    ['a division by zero', '{{ 4 is divisibleby(0) }}'],
    ['a list that holds itself', '{% set x = [] %}{{ x.append(x) }}{{ x | tojson }}'],
    ['a namespace that does', '{% set ns = namespace(a=1) %}{% set ns.a = ns %}{{ ns | tojson }}'],
    ['a long range', '{% for i in range(1000000000) %}{% endfor %}'],
    ['a range at the end of numbers', '{{ range(9223372036854775800, 9223372036854775807, 5) }}'],
    ['loops in each other', `${'{% for i in range(9999) %}'.repeat(4)}x${'{% endfor %}'.repeat(4)}`],
    [
      'a string that doubles',
      '{% set ns = namespace(s="abc") %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}',
    ],
    ['a string many times', '{{ "x" * 1000000000 }}'],
    ['a long indent', '{{ "a" | indent(1000000000) }}'],
    ['a long indent of JSON', '{{ [1] | tojson(indent=1000000000) }}'],
    ['a replacement that grows', '{% set x = "a" * 300000 %}{{ x | replace("a", x) }}'],
    ['a join that grows', '{% set x = "a" * 300000 %}{{ range(300000) | join(x) }}'],
    ['a split of much', '{{ ("a," * 2000000).split(",") | length }}'],
    ['a search of much', '{{ (("a" * 1500000) + "b") in ("a" * 3000000) }}'],
    ['parts to strip', '{{ ("a" * 1000000).strip("a") }}'],
    ['a sort of several kinds', '{{ [1, "a", 2, "10", 9] | sort }}'],
    ['sorts for ever', '{% for i in range(10000) %}{% set x = range(100000) | sort %}{% endfor %}'],
    [
      'a tree of macros',
      '{% macro a(n) %}{{ a(n - 1) if n else "" }}{{ a(n - 1) if n else "" }}{% endmacro %}{{ a(60) }}',
    ],
    ['a list twice in each other', `${twice('[ns.x, ns.x]')}{{ ns.x | tojson }}`],
    ['the same as a text', `${twice('[ns.x, ns.x]')}{{ ns.x }}`],
    ['the same as a key', `${twice('(ns.x, ns.x)')}{{ {ns.x: 1} }}`],
    [
      'a deep list',
      '{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}',
    ],
  ])('ends %s', { tags: ['hostile'] }, (_, template) => {
    const began = process.cpuUsage()
    const call = () => model.formatChat(user, { template })
    expect(call).toThrow(expect.objectContaining({ code: 'ERR_H2O_CHAT_TEMPLATE' }))
    expect(process.cpuUsage(began).user).toBeLessThan(20e6) // µs: what others on the machine take is not its own
  })

  it('counts nothing that a template of today does', () => {
    const template =
      '{{ (-9223372036854775807 - 1) is divisibleby(-1) }} {{ 4 is divisibleby(3) }} {{ [3, 1, 2] | sort | join(",") }} ' +
      '{{ [{"a": 2}, {"a": 1}] | sort(attribute="a") | tojson }} {{ "a b c".split(" ") | length }} {{ "x" * 3 }}'
    expect(model.formatChat(user, { template })).toBe('True False 1,2,3 [{"a": 1}, {"a": 2}] 3 xxx')
    const messages = Array.from({ length: 3000 }, (_, i) => ({
      role: i % 2 ? 'assistant' : 'user',
      content: 'Hello',
    }))
    expect(model.formatChat(messages).length).toBeGreaterThan(100_000)
  })

  it('takes half a character for U+FFFD, as tokenize does', () => {
    const content = 'cut \ud83d and \ud83d\ude00 \\ud800'
    expect(model.formatChat([{ role: 'user', content }])).toContain('cut \ufffd and \ud83d\ude00 \\ud800<')
  })

  it('refuses a model without a template', async () => {
    await using bare = await loadModel(await tinyModel())
    expect(() => bare.formatChat(user)).toThrow(expect.objectContaining({ code: 'ERR_H2O_CHAT_TEMPLATE' }))
  })
})

describe('applyChatTemplateAsync', () => {
  it('gives what applyChatTemplate gives', async () => {
    const options = { jsonSchema: { type: 'object' } } as const
    const [chat, other] = [
      model.applyChatTemplate(user, options),
      await model.applyChatTemplateAsync(user, options),
    ]
    expect([other.prompt, other.stop, other.parse('{}')]).toEqual([chat.prompt, chat.stop, chat.parse('{}')])
    await expect(model.applyChatTemplateAsync(user, { template: '{% if %}' })).rejects.toMatchObject({
      code: 'ERR_H2O_CHAT_TEMPLATE',
    })
  })

  it('takes the messages as they are when it is called', async () => {
    const messages = [...user, { role: 'assistant', content: 'It is' }]
    const chat = model.applyChatTemplateAsync(messages, { continueFinalMessage: true })
    messages.length = 0
    expect(await chat).toMatchObject({ prompt: expect.stringMatching(/It is$/), continued: 5 })
  })

  it('counts the parts of a text that an answer continues', async () => {
    const part = Object.assign(Object.create(null), { type: 'text', text: 'It is' })
    const content = [part, { type: 'text', text: 'so that' }]
    const messages = [...user, { role: 'assistant', content }]
    const chat = await model.applyChatTemplateAsync(messages, { continueFinalMessage: true })
    expect(chat.continued).toBe(12)
  })

  it('holds no event loop, and ends with its signal', async () => {
    const abort = new AbortController()
    const template = '{% for i in range(9999) %}{% for j in range(9999) %}{{ j }}{% endfor %}{% endfor %}'
    const chat = model.applyChatTemplateAsync(user, { template, signal: abort.signal })
    let turns = 0
    const timer = setInterval(() => turns++, 5)
    await new Promise((resolve) => setTimeout(resolve, 300))
    clearInterval(timer)
    expect(turns).toBeGreaterThan(10)
    const began = performance.now()
    abort.abort(new Error('enough'))
    await expect(chat).rejects.toThrow('enough')
    expect(performance.now() - began).toBeLessThan(500)
    const late = model.applyChatTemplateAsync(user, { signal: AbortSignal.abort(new Error('before')) })
    await expect(late).rejects.toThrow('before')
  })
})

describe('parse', () => {
  it.each([[null], ['partial'], [{ partial: 1 }], [{ partail: true }]])('refuses %j', (options) => {
    const chat = model.applyChatTemplate(user)
    expect(() => chat.parse('{}', options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_H2O_INVALID_ARGUMENT' }),
    )
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
        expect(through(['\nUser:', 'four'], pieces)).toMatchObject({ text: 'one two', found: '\nUser:' })
      }
    }
  })

  it('hold back no more than could become one, and lose nothing', () => {
    expect(through(['abab'], ['xab', 'ay']).out).toEqual(['x', 'abay'])
    expect(through(['abab'], ['aab', 'aba'])).toMatchObject({ text: 'a', found: 'abab' })
    expect(through(['END'], ['the E', 'N'])).toMatchObject({ text: 'the EN', found: null })
    expect(through([], ['a', 'b'])).toMatchObject({ text: 'ab', found: null })
    expect(through(['ab', 'a'], ['xab'])).toMatchObject({ text: 'x', found: 'ab' })
  })

  it('are found as by comparing every end of the text', () => {
    const numbers = new Random(7)
    const random = () => numbers.uniform()
    const some = (most: number) =>
      Array.from({ length: 1 + Math.floor(random() * most) }, () => (random() < 0.6 ? 'a' : 'b')).join('')
    for (let n = 0; n < 3000; n++) {
      const stops = Array.from({ length: 1 + Math.floor(random() * 3) }, () => some(6))
      const pieces = Array.from({ length: 6 }, () => some(4))
      const { out, found } = through(stops, pieces)
      let text = ''
      for (const [i, piece] of pieces.slice(0, out.length).entries()) {
        text += piece
        const starts = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0)
        const begun = [...text].findIndex((_, at) => stops.some((stop) => stop.startsWith(text.slice(at))))
        const shown = starts.length > 0 ? Math.min(...starts) : begun < 0 ? text.length : begun
        expect(out.slice(0, i + 1).join('')).toBe(text.slice(0, shown))
        expect(found !== null && i === out.length - 1).toBe(starts.length > 0)
      }
    }
  })

  it('that nearly fit everywhere take no longer than others', () => {
    const stops = Array.from({ length: 16 }, (_, i) => `${'-'.repeat(200_000 - i)}x`)
    const pieces = [...Array.from({ length: 3000 }, () => '-'.repeat(64)), 'b'] // once minutes for the last one
    expect(through(stops, pieces)).toMatchObject({ text: pieces.join(''), found: null })
  })

  it('end a generation, and say so', async () => {
    await using context = await tinyContext()
    const options = { temperature: 0, ignoreEos: true, nPredict: 40 }
    const free = await collect(context.generate(someTokens(50), options))
    const stop = free.summary.text.slice(12, 15)
    const at = free.summary.text.indexOf(stop)
    const { texts, summary } = await collect(context.generate(someTokens(50), { ...options, stop }))
    expect(summary).toMatchObject({ stop: 'stop', stopString: stop, text: free.summary.text.slice(0, at) })
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
