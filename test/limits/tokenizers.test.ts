// Tokenizers other than the tiny models' own, as files name them.

import { describe, expect, it } from 'vitest'
import { loadModel } from '../../src/ts/index.js'
import { type Metadata, makeModel, string, writeGguf } from '../../src/ts/model-maker/index.js'
import { scratch, tinyContext } from '../ts/support.js'

/** A tiny model whose metadata says something else of its tokenizer. */
async function modelWith(name: string, change: (metadata: Metadata) => Metadata): Promise<string> {
  const path = scratch(`${name}.gguf`)
  const model = makeModel({ arch: 'llama', hidden: 64, heads: 4 })
  await writeGguf({ ...model, metadata: { ...model.metadata, ...change(model.metadata) } }, path)
  return path
}

const modelOf = async (pre: string) =>
  loadModel(await modelWith(pre, () => ({ 'tokenizer.ggml.pre': string(pre) })))

/** MiB that the process has had at most. */
const peak = () => process.resourceUsage().maxRSS / 1024

// std::regex recurses for every character of a match, with half a KiB of stack each
it('a long word takes no more memory where it is matched by a regular expression', async () => {
  const word = 'a'.repeat(2 ** 20)
  await using plain = await modelOf('qwen2') // has a function of its own in llama.cpp
  await using regular = await modelOf('tekken')
  plain.tokenize(word)
  const before = peak()
  regular.tokenize(word)
  expect(peak() - before).toBeLessThan(100) // it was 245
})

describe('a text that is one match or a few', () => {
  const pres = ['tekken', 'gpt-4o', 'deepseek-llm', 'deepseek-coder', 'bloom', 'exaone-moe', 'superbpe']
  it.each(pres)('is tokens of %s', async (pre) => {
    await using model = await modelOf(pre)
    const spaces = ['  ', ' \u00a0', ' \u3000', '\n\u2028\u0085'].map((some) => some.repeat(60_000))
    const word = 'a'.repeat(100_000)
    const others = ['?'.repeat(100_000), '1'.repeat(5000), 'я '.repeat(60_000)]
    for (const text of [word, ...others, ...spaces.flatMap((some) => [some, `${some}1`])]) {
      expect(model.detokenize(model.tokenize(text))).toBe(text)
    }
    await using context = await tinyContext({ model })
    await expect(context.prefill(word)).rejects.toMatchObject({ code: 'ERR_H2O_PROMPT_TOO_LONG' })
  })
})

it('as many special tokens as a text can hold are found in linear time', async () => {
  await using model = await modelOf('qwen2')
  expect(model.tokenize('<s>'.repeat(300_000), { parseSpecial: true })).toHaveLength(300_000)
})

// it looks at all digits behind each of them
it('a text that takes time by the square of its length is refused, or ended', {
  tags: ['hostile'],
}, async () => {
  await using model = await modelOf('superbpe')
  const content = '1'.repeat(500_000)
  await expect(model.tokenizeAsync(content)).rejects.toMatchObject({ code: 'ERR_H2O_INVALID_ARGUMENT' })

  // a continued message becomes tokens for the grammar of its tools
  const signal = AbortSignal.timeout(50)
  const began = performance.now()
  const chat = model.applyChatTemplateAsync([{ role: 'assistant', content }], {
    template: '{% for message in messages %}{{ message.content }}{% endfor %}',
    tools: [{ type: 'function', function: { name: 'f' } }],
    toolChoice: 'required',
    continueFinalMessage: true,
    signal,
  })
  await expect(chat).rejects.toMatchObject({ name: 'TimeoutError' })
  expect(performance.now() - began).toBeLessThan(500)
})

describe('a vocabulary without the bytes that a text needs', () => {
  it('is an invalid model, by whichever way', async () => {
    const path = await modelWith('sentencepiece', (metadata) => {
      const tokens = metadata['tokenizer.ggml.tokens']?.value as string[]
      return {
        'tokenizer.ggml.model': string('llama'),
        'tokenizer.ggml.scores': { type: 'f32[]', value: tokens.map(() => 0) },
      }
    })
    await using model = await loadModel(path)
    const invalid = expect.objectContaining({ code: 'ERR_H2O_MODEL_INVALID' })
    expect(() => model.tokenize('hello € 42')).toThrow(invalid)
    await using context = await tinyContext({ model })
    await expect(context.prefill('hello € 42')).rejects.toThrow(invalid)
    expect((await context.prefill([65, 66])).tokens).toBe(2)
  })
})
