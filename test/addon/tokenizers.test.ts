// Tokenizers other than the tiny models' own, as files name them.

import { describe, expect, it } from 'vitest'
import { loadModel } from '../../src/ts/index.js'
import { type Metadata, makeModel, string, writeGguf } from '../../src/ts/model-maker/index.js'
import { scratch, tinyContext } from './support.js'

/** A tiny model whose metadata says something else of its tokenizer. */
async function modelWith(name: string, change: (metadata: Metadata) => Metadata): Promise<string> {
  const path = scratch(`${name}.gguf`)
  const model = makeModel({ arch: 'llama', hidden: 64, heads: 4 })
  await writeGguf({ ...model, metadata: { ...model.metadata, ...change(model.metadata) } }, path)
  return path
}

describe('a word of a hundred thousand letters', () => {
  const word = 'a'.repeat(100_000)

  // each matches with std::regex, which recurses for every letter
  const recursing = ['tekken', 'gpt-4o', 'deepseek-llm', 'deepseek-coder', 'bloom', 'exaone-moe']
  it.each(recursing)('is tokens of %s', async (pre) => {
    const path = await modelWith(pre, () => ({ 'tokenizer.ggml.pre': string(pre) }))
    await using model = await loadModel(path)
    const spaces = [' \u00a0', ' \u3000', '\n\u2028\u0085'].map((some) => some.repeat(60_000)) // one match each
    const others = [
      `x ${' '.repeat(1000)}${word}`,
      '?'.repeat(100_000),
      '1'.repeat(100_000),
      'я '.repeat(60_000),
    ]
    for (const text of [word, ...others, ...(pre === 'deepseek-llm' ? [] : spaces)]) {
      expect(model.detokenize(model.tokenize(text))).toBe(text)
    }
    await using context = await tinyContext({ model })
    await expect(context.prefill(word)).rejects.toMatchObject({ code: 'ERR_H2O_PROMPT_TOO_LONG' })
  })
})

// its time grows with the square of the white space, and nothing ends it
it('white space in a row is refused where a tokenizer would take minutes', async () => {
  const path = await modelWith('slow', () => ({ 'tokenizer.ggml.pre': string('deepseek-llm') }))
  await using model = await loadModel(path)
  for (const text of [
    `${' '.repeat(200_000)}1`,
    `${' '.repeat(2000)}1`.repeat(100),
    '\u00a0'.repeat(20_000),
  ]) {
    await expect(model.tokenizeAsync(text)).rejects.toMatchObject({ code: 'ERR_H2O_INVALID_ARGUMENT' })
  }
  const some = `${' '.repeat(2000)}1`
  expect(model.detokenize(model.tokenize(some))).toBe(some)
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
