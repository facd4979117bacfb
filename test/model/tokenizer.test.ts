import { describe, expect, it } from 'vitest'
import { loadModel } from '../../src/ts/index.js'
import type { GgufValue } from '../../src/ts/model-maker/index.js'
import { tinyModel } from '../ts/support.js'
import { plainPython, python } from './python.js'

const hard = `don't  stop--now
	x = foo_bar(1234, "a  b");   // trailing   

  (see ls(1)) 3.14 I'LL "quoted" --long-option=VALUE\n\n\n$HOME/.config`

/** The vocabulary as Python would write it into a GGUF file. */
function vocabulary(): Record<string, GgufValue> {
  const code =
    'import json, metadata, tokenizer; print(json.dumps(metadata.vocabulary(tokenizer.Tokenizer.load())))'
  const entries = Object.entries(JSON.parse(python('-c', code)) as Record<string, unknown>)
  return Object.fromEntries(
    entries.map(([key, value]): [string, GgufValue] => [key, { type: typeOf(value), value } as GgufValue]),
  )
}

function typeOf(value: unknown): GgufValue['type'] {
  if (Array.isArray(value)) return typeof value[0] === 'string' ? 'string[]' : 'i32[]'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'string' ? 'string' : 'u32'
}

describe.skipIf(!plainPython)("the recall model's tokenizer", () => {
  it('cuts text as llama.cpp does', async () => {
    const metadata = vocabulary()
    const size = (metadata['tokenizer.ggml.tokens']?.value as string[]).length
    const model = await loadModel(await tinyModel({ vocab: size, metadata }, 'recall vocabulary'))
    const sampled = python('sample.py', '--json', '--length', '2000', '--count', '8').trimEnd().split('\n')
    const code = 'import json, sys, tokenizer; print(tokenizer.Tokenizer.load().encode(sys.argv[1]))'
    const texts = sampled.map((line) => JSON.parse(line) as { text: string; ids: number[] })
    texts.push({ text: hard, ids: JSON.parse(python('-c', code, hard)) as number[] })
    for (const { text, ids } of texts) {
      expect(Array.from(model.tokenize(text, { addSpecial: false }))).toEqual(ids)
      expect(model.detokenize(ids)).toBe(text)
    }
    expect(Array.from(model.tokenize(''))).toEqual([size - 2])
    await model.dispose()
  })

  it('has every digit as a token of its own', () => {
    const code = 'import tokenizer; print(tokenizer.Tokenizer.load().encode(" 58213"))'
    expect(JSON.parse(python('-c', code))).toEqual([...' 58213'].map((c) => c.charCodeAt(0)))
  })
})
