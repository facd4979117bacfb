import { describe, expect, it } from 'vitest'
import { collect, someTokens, tinyContext, tinyModel } from './support.js'

const budget = { local: 16, heavy: 16 }

describe('a model whose weights hold', () => {
  it.each([
    ['NaN everywhere', Number.NaN, () => true],
    ['one row of NaN', Number.NaN, (i: number) => i < 64],
    ['+inf in one row', Number.POSITIVE_INFINITY, (i: number) => i >= 640 && i < 704],
    ['-inf everywhere', Number.NEGATIVE_INFINITY, () => true],
    ['huge values', 3e38, (i: number) => i % 3 === 0],
  ] as const)('%s neither crashes nor hangs', async (name, value, hit) => {
    const edit = (tensor: string, values: Float32Array) => {
      if (tensor !== 'output.weight') return
      for (let i = 0; i < values.length; i++) if (hit(i)) values[i] = value
    }
    await using context = await tinyContext({ model: await tinyModel({ tied: false, edit }, name) })
    const { logits } = await context.prefill(someTokens(300))
    expect(logits).toHaveLength(258)
    for (const temperature of [0, 0.8]) {
      const { tokens } = await collect(
        context.generate(someTokens(300), { nPredict: 5, temperature, seed: 1, ignoreEos: true }),
      )
      expect(tokens).toHaveLength(5)
      for (const token of tokens) expect(token).toBeLessThan(258)
      if (name === 'NaN everywhere') expect(tokens).toEqual([0, 0, 0, 0, 0])
    }
  })

  it.each(['votes', 'query'] as const)('NaN inside of the layers, %s', async (select) => {
    const edit = (tensor: string, values: Float32Array) => {
      if (tensor === 'blk.0.attn_k.weight') values.fill(Number.NaN, 0, 100)
    }
    await using context = await tinyContext({
      model: await tinyModel({ edit }, 'nan-k'),
      h2o: { ...budget, select },
    })
    for (let i = 0; i < 2; i++) {
      expect((await context.prefill(someTokens(400), { reuse: false })).tokens).toBe(400)
      const { tokens } = await collect(context.generate(someTokens(300), { nPredict: 3, seed: 1 }))
      expect(tokens.length).toBeLessThanOrEqual(3)
    }
  })
})
