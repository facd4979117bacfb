// A real language model under H2O: SmolLM2 135M, where `npm run models -- smollm2-135m` has brought it.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { modelNamed, whereIs } from '../../scripts/lib/models.mjs'
import { type Context, createContext, loadModel, type Model } from '../../src/ts/index.js'
import { root } from '../cli/support/spawn.js'
import { collect } from '../ts/support.js'

const entry = modelNamed('smollm2-135m')
const path: string | undefined = whereIs(entry)
const title = path ? entry.name : `${entry.name}: not here, npm run models -- ${entry.name} fetches it`

const CHUNK = 512
const LENGTH = 2500 // tokens, in five chunks
const FACT = 'The pass key of the lighthouse is 73914.\n'
const ASKED = `
What is the pass key of the lighthouse?<|im_end|>
<|im_start|>assistant
The pass key of the lighthouse is`

// a prefill and an answer of a real model take 10 s where nothing else runs
vi.setConfig({ testTimeout: 120_000 })

describe.skipIf(path === undefined)(title, () => {
  let model: Model
  beforeAll(async () => {
    model = await loadModel(path as string)
  })
  afterAll(() => model?.dispose())

  /** Prose of the pinned llama.cpp, which does not change by itself; the fact after its first 40 %. */
  function document(): string {
    const lines = ['tools/completion/README.md']
      .flatMap((file) => readFileSync(join(root, 'vendor/llama.cpp', file), 'utf8').split('\n'))
      .filter((line) => /^[\x20-\x7e]+$/.test(line) && !line.startsWith('|'))
    let [text, tokens] = ['<|im_start|>user\n', 0]
    for (const line of lines) {
      const before = tokens
      tokens += model.tokenize(`${line}\n`).length
      if (tokens > LENGTH) return text
      text += `${line}\n`
      if (before < 0.4 * LENGTH && tokens >= 0.4 * LENGTH) text += FACT
    }
    throw new Error(`the documents hold ${tokens} tokens only`)
  }

  async function answer(context: Context) {
    const options = { append: true, nPredict: 8, temperature: 0 }
    const { summary } = await collect(context.generate(ASKED, options))
    return { text: summary.text, asked: summary.prefill.path }
  }

  it('is what the catalogue says', () => {
    expect(model).toMatchObject({ architecture: entry.architecture, nCtxTrain: entry.context })
  })

  it.each([
    ['dense', false as const],
    ['h2o', { local: 256, heavy: 256 }],
  ])(
    'finds a fact in a document that was read %s',
    async (form, h2o) => {
      const sizes = { nCtx: 4096, nBatch: 4 * CHUNK, nUbatch: CHUNK }
      await using context = await createContext({ model, ...sizes, h2o })
      const read = await context.prefill(document())
      expect(read.path).toBe(form)
      expect(read.tokens).toBeGreaterThan(0.9 * LENGTH)
      expect((read.logits as Float32Array).every(Number.isFinite)).toBe(true)
      expect(await answer(context)).toMatchObject({ text: expect.stringContaining('73914'), asked: 'dense' })
    },
    300_000,
  )
})
