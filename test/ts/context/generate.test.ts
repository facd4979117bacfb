import { describe, expect, it } from 'vitest'
import { argmax } from '../../../src/ts/cli/statistics.js'
import { H2oError } from '../../../src/ts/index.js'
import { collect, someTokens, tinyContext, tinyModel } from '../support.js'

const prompt = 'Once upon a time there was a little girl.'

describe('generate', () => {
  it('is greedy at temperature 0', async () => {
    await using context = await tinyContext()
    const { tokens, texts, summary } = await collect(
      context.generate(prompt, { nPredict: 12, temperature: 0, ignoreEos: true }),
    )
    let { logits } = await context.prefill(prompt)
    const expected: number[] = []
    for (let i = 0; i < 12; i++) {
      expected.push(argmax(logits as Float32Array))
      ;({ logits } = await context.decode(expected[i] as number))
    }
    expect(tokens).toEqual(expected)
    expect(summary).toMatchObject({ predicted: 12, stop: 'length', text: texts.join('') })
    expect(summary.text).toBe(context.model.detokenize(tokens))
    expect(summary.prefill).toMatchObject({ tokens: prompt.length, cached: 0, logits: null })
    expect(summary.timings).toMatchObject({ cacheN: 0, promptN: prompt.length, predictedN: 12 })
    const { predictedExact, predictedDenseReason, ...numbers } = summary.timings
    expect([predictedExact, predictedDenseReason]).toEqual([true, 'off'])
    for (const value of Object.values(numbers)) expect(value).toBeGreaterThanOrEqual(0)
    expect(summary.timings.ttftMs).toBeGreaterThanOrEqual(summary.timings.promptMs)
  })

  it('gives its result at once, and behind a loop', async () => {
    await using context = await tinyContext()
    const answer = (options = {}) =>
      context.generate(prompt, { nPredict: 6, temperature: 0, ignoreEos: true, ...options })
    const { tokens, summary } = await collect(answer())
    const whole = await answer().result()
    expect(whole).toMatchObject({ text: summary.text, predicted: 6, stop: 'length' })
    const looped = answer()
    const seen: number[] = []
    for await (const { token } of looped) seen.push(token)
    expect(seen).toEqual(tokens)
    expect((await looped.result()).text).toBe(summary.text)
    const begun = answer()
    await begun.next()
    expect(await begun.result()).toMatchObject({ text: summary.text, predicted: 6 })
    expect((await context.prefill(prompt)).tokens).toBeGreaterThan(0) // nothing is held
    const none = answer({ nPredict: 0 })
    expect(await none.result()).toMatchObject({ text: '', predicted: 0 })
  })

  it('has no result where it was left or failed', async () => {
    await using context = await tinyContext()
    const left = context.generate(prompt, { nPredict: 6, ignoreEos: true })
    for await (const _ of left) break
    await expect(left.result()).rejects.toMatchObject({ code: 'ERR_H2O_INTERRUPTED' })
    const wrong = context.generate(prompt, { nPredict: -7 })
    await expect(wrong.result()).rejects.toMatchObject({ code: 'ERR_H2O_INVALID_ARGUMENT' })
    await expect(wrong.result()).rejects.toMatchObject({ code: 'ERR_H2O_INTERRUPTED' })
  })

  it('is greedy at a temperature that no logit can be divided by', async () => {
    await using context = await tinyContext()
    const options = { nPredict: 12, topK: 0, topP: 1, minP: 0, ignoreEos: true }
    const greedy = await collect(context.generate(prompt, { ...options, temperature: 0 }))
    const cold = await collect(context.generate(prompt, { ...options, temperature: 1e-38 }))
    expect(cold.tokens).toEqual(greedy.tokens)
  })

  it('ends with ERR_H2O_DISPOSED where the context goes between two tokens', async () => {
    const context = await tinyContext()
    const generation = context.generate(prompt, { ignoreEos: true })
    await generation.next()
    const next = generation.next()
    const until = performance.now() + 200 // the token is there, and nobody has heard of it
    while (performance.now() < until);
    const disposal = context.dispose()
    await expect(next).rejects.toBeInstanceOf(H2oError)
    await expect(next).rejects.toMatchObject({ code: 'ERR_H2O_DISPOSED' })
    await disposal
  })

  it('repeats with a seed, and does not without', async () => {
    await using context = await tinyContext()
    const options = { nPredict: 24, temperature: 1.5, topK: 0, topP: 1, minP: 0, ignoreEos: true }
    const first = await collect(context.generate(prompt, { ...options, seed: 7 }))
    const second = await collect(context.generate(prompt, { ...options, seed: 7 }))
    const other = await collect(context.generate(prompt, { ...options, seed: 8 }))
    expect(second.tokens).toEqual(first.tokens)
    expect(first.summary.seed).toBe(7)
    expect(other.tokens).not.toEqual(first.tokens)
    const [a, b] = [
      await collect(context.generate(prompt, options)),
      await collect(context.generate(prompt, options)),
    ]
    expect(a.summary.seed).not.toBe(b.summary.seed)
    const again = await collect(context.generate(prompt, { ...options, seed: a.summary.seed }))
    expect(again.tokens).toEqual(a.tokens)
    const minus = await collect(context.generate(prompt, { ...options, seed: -1 }))
    expect(minus.summary.seed).toBeGreaterThanOrEqual(0)
  })

  it('narrows the choice', async () => {
    await using context = await tinyContext()
    const run = (options: object) =>
      collect(context.generate(prompt, { nPredict: 8, seed: 3, ignoreEos: true, ...options }))
    const greedy = await run({ temperature: 0 })
    for (const one of [{ topK: 1 }, { topP: 0 }, { minP: 1 }, { temperature: 1e-6 }]) {
      expect((await run({ temperature: 1, topK: 0, topP: 1, minP: 0, ...one })).tokens).toEqual(greedy.tokens)
    }
  })

  it('streams whole characters', async () => {
    const model = await tinyModel({ readable: false })
    await using context = await tinyContext({ model })
    const options = { nPredict: 400, temperature: 3, topK: 0, topP: 1, minP: 0, seed: 5, ignoreEos: true }
    const { tokens, texts, summary } = await collect(context.generate(prompt, options))
    const bytes = Uint8Array.from(tokens.filter((token) => token < 256))
    expect(summary.text).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
    expect(texts.join('')).toBe(summary.text)
    expect(texts).toContain('')
    expect(bytes.some((byte) => byte >= 0x80)).toBe(true)
  })

  it('makes one character of the tokens of one', async () => {
    // whatever comes in, byte t leads to the next byte of "né😀"
    const cycle = [...new TextEncoder().encode('né😀')]
    const model = await tinyModel(cyclic(cycle), 'cyclic')
    await using context = await tinyContext({ model })
    const { texts } = await collect(context.generate('n', { nPredict: 14, temperature: 0 }))
    expect(texts).toEqual(['', 'é', '', '', '', '😀', 'n', '', 'é', '', '', '', '😀', 'n'])
  })

  it('flushes an incomplete character at the end', async () => {
    const cycle = [...new TextEncoder().encode('né😀')]
    await using context = await tinyContext({ model: await tinyModel(cyclic(cycle), 'cyclic') })
    const { texts, summary } = await collect(context.generate('n', { nPredict: 4, temperature: 0 }))
    expect(texts).toEqual(['', 'é', '', '\uFFFD'])
    expect(summary.text).toBe('é\uFFFD')
  })

  it('stops where the model ends it', async () => {
    await using context = await tinyContext({ model: await tinyModel(cyclic([97, 98, 99, 257]), 'ending') })
    const { texts, summary } = await collect(context.generate('a', { temperature: 0 }))
    expect(texts).toEqual(['b', 'c'])
    expect(summary).toMatchObject({ stop: 'eos', predicted: 2, text: 'bc' })
    const on = await collect(context.generate('a', { temperature: 0, ignoreEos: true, nPredict: 6 }))
    expect(on.tokens).not.toContain(257)
    expect(on.summary.stop).toBe('length')
  })

  it('flushes before the end of generation too', async () => {
    await using context = await tinyContext({ model: await tinyModel(cyclic([97, 0xc3, 257]), 'cut-short') })
    const { texts, summary } = await collect(context.generate('a', { temperature: 0 }))
    expect(texts).toEqual(['', '\uFFFD'])
    expect(summary).toMatchObject({ stop: 'eos', predicted: 1, text: '\uFFFD' })
  })

  it('stops where the context is full', async () => {
    await using context = await tinyContext({ nCtx: 256 })
    const { tokens, summary } = await collect(
      context.generate(someTokens(250), { temperature: 0, ignoreEos: true }),
    )
    expect(summary.stop).toBe('context')
    expect(tokens).toHaveLength(7) // the last one has no place, but was predicted
    expect(context.position).toBe(256)
    expect((await collect(context.generate(someTokens(256), { ignoreEos: true }))).tokens).toHaveLength(1)
  })

  it('predicts nothing when asked for nothing', async () => {
    await using context = await tinyContext()
    const { tokens, summary } = await collect(context.generate(prompt, { nPredict: 0 }))
    expect(tokens).toEqual([])
    expect(summary).toMatchObject({ predicted: 0, stop: 'length', text: '' })
    expect(context.position).toBe(prompt.length)
  })

  it('appends, and leaves the last token to the next call', async () => {
    await using context = await tinyContext()
    const options = { temperature: 0, ignoreEos: true }
    const whole = await collect(context.generate(prompt, { ...options, nPredict: 10 }))
    const first = await collect(context.generate(prompt, { ...options, nPredict: 5 }))
    expect(context.position).toBe(prompt.length + 4)
    const rest = await collect(
      context.generate(first.tokens.slice(-1), { ...options, nPredict: 5, append: true }),
    )
    expect([...first.tokens, ...rest.tokens]).toEqual(whole.tokens)
    expect(rest.summary.timings.cacheN).toBe(prompt.length + 4)
  })

  it('lets go of the context when the loop is left', async () => {
    await using context = await tinyContext()
    for await (const { token } of context.generate(prompt, { ignoreEos: true })) {
      expect(token).toBeLessThan(258)
      break
    }
    expect((await context.prefill(prompt)).tokens).toBe(prompt.length)
  })

  it.each([
    { nPredict: -2 },
    { nPredict: 1.5 },
    { temperature: -1 },
    { temperature: Number.NaN },
    { topK: -1 },
    { topP: 1.1 },
    { minP: -0.1 },
    { seed: 2 ** 32 },
    { seed: -2 },
    { ignoreEos: 1 },
    { signal: 'no' },
  ])('refuses %j', async (options) => {
    await using context = await tinyContext()
    await expect(collect(context.generate(prompt, options as object))).rejects.toMatchObject({
      code: 'ERR_H2O_INVALID_ARGUMENT',
    })
    expect(context.position).toBe(0)
  })
})

/** A model without attention to speak of whose next token follows the last one in a cycle. */
function cyclic(cycle: number[]) {
  return {
    hidden: 64,
    layers: 1,
    tied: false,
    edit(name: string, values: Float32Array) {
      if (name === 'token_embd.weight' || name === 'output.weight') {
        values.fill(0)
        cycle.forEach((token, i) => {
          const from = name === 'token_embd.weight' ? i : (i + cycle.length - 1) % cycle.length
          values[token * 64 + from] = 8
        })
      } else if (name.includes('attn_output') || name.includes('ffn_down')) values.fill(0)
    },
  }
}
