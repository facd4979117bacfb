import { describe, expect, it } from 'vitest'
import { collect, someTokens, tinyContext, tinyModel } from '../../ts/support.js'

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
    const hasNumber = logits?.some((logit) => !Number.isNaN(logit) && logit !== Number.NEGATIVE_INFINITY)
    if (name.includes('NaN')) expect(hasNumber).toBe(name === 'one row of NaN')
    for (const temperature of [0, 0.8]) {
      const answer = context.generate(someTokens(300), { nPredict: 5, temperature, seed: 1, ignoreEos: true })
      const said = await collect(answer).catch((error) => error)
      if (!hasNumber)
        expect(said).toMatchObject({ code: 'ERR_H2O_DECODE_FAILED', details: { position: 300 } })
      else if (name === 'one row of NaN') expect(said.tokens).toHaveLength(5)
      else if (said instanceof Error) expect(said).toMatchObject({ code: 'ERR_H2O_DECODE_FAILED' }) // a later token may have none
      for (const token of said.tokens ?? []) expect(token).toBeLessThan(258)
    }
  })

  async function refusesToDraw(select: 'query' | 'votes') {
    const edit = (tensor: string, values: Float32Array) => {
      if (tensor === 'blk.0.attn_k.weight') values.fill(Number.NaN, 0, 100)
    }
    await using context = await tinyContext({
      model: await tinyModel({ edit }, 'nan-k'),
      h2o: { ...budget, select },
    })
    for (let i = 0; i < 2; i++) {
      expect((await context.prefill(someTokens(400), { reuse: false })).tokens).toBe(400)
      const answer = collect(context.generate(someTokens(300), { nPredict: 3, seed: 1 }))
      await expect(answer).rejects.toMatchObject({ code: 'ERR_H2O_DECODE_FAILED' })
    }
  }
  it('NaN inside of the layers, query', () => refusesToDraw('query'))
  it('NaN inside of the layers, votes', { tags: ['ways'] }, () => refusesToDraw('votes'))
})
