/**
 * llama.cpp's samplers by what can be said of them exactly: arithmetic on the logits, and choices that leave one token.
 */

import { describe, expect, it } from 'vitest'
import { argmax } from '../../../src/ts/cli/statistics.js'
import type { Context, GenerateOptions } from '../../../src/ts/index.js'
import { collect, someTokens, tinyContext } from '../../ts/support.js'

const prompt = someTokens(90)
const nPredict = 24
const open = { nPredict, ignoreEos: true, temperature: 1, topK: 0, topP: 1, minP: 0, seed: 11 }
const eos = 257

/** Greedy tokens behind `tokens`, by `choose` from the model's own logits. */
async function reference(
  tokens: ArrayLike<number>,
  choose: (logits: Float32Array, past: number[]) => number,
  read: (context: Context) => Promise<Float32Array>,
): Promise<number[]> {
  await using context = await tinyContext()
  const past = Array.from(tokens)
  const chosen: number[] = []
  let logits = await read(context)
  while (chosen.length < nPredict) {
    logits[eos] = Number.NEGATIVE_INFINITY
    const token = choose(logits, past)
    chosen.push(token)
    past.push(token)
    logits = (await context.decode(token)).logits as Float32Array
  }
  return chosen
}

const behindPrompt = async (context: Context) => (await context.prefill(prompt)).logits as Float32Array

async function tokensOf(options: GenerateOptions, given: ArrayLike<number> = prompt): Promise<number[]> {
  await using context = await tinyContext()
  return (await collect(context.generate(given, { ...open, ...options }))).tokens
}

const penalties = { repeatPenalty: 1.5, frequencyPenalty: 0.25, presencePenalty: 0.125 }

function penalize(lastN: number) {
  return (logits: Float32Array, past: number[]) => {
    const counts = new Map<number, number>()
    for (const token of past.slice(-lastN)) counts.set(token, (counts.get(token) ?? 0) + 1)
    for (const [token, count] of counts) {
      const logit = logits[token] as number
      logits[token] = logit <= 0 ? logit * penalties.repeatPenalty : logit / penalties.repeatPenalty
      logits[token] = (logits[token] as number) - (count * 0.25 + 0.125)
    }
    return argmax(logits)
  }
}

describe('penalties', () => {
  it.each([8, 64, 1000])('look back %i tokens, into the prompt too', async (repeatLastN) => {
    const tokens = await tokensOf({ ...penalties, repeatLastN, temperature: 0 })
    expect(tokens).toEqual(await reference(prompt, penalize(repeatLastN), behindPrompt))
    expect(tokens).not.toEqual(await tokensOf({ temperature: 0 }))
  })

  it('look back into what was read before the prompt', async () => {
    await using context = await tinyContext()
    const question = someTokens(20, 9)
    const document = await context.read(prompt)
    const options = { ...open, ...penalties, repeatLastN: 200, temperature: 0 }
    for (let i = 0; i < 2; i++) {
      const { tokens } = await collect(document.ask(question, options))
      const both = [...prompt, ...question]
      const expected = await reference(both, penalize(200), async (other) => {
        await other.read(prompt)
        return (await other.prefill(question, { append: true })).logits as Float32Array
      })
      expect(tokens).toEqual(expected)
    }
  })

  it('are none with repeatLastN 0', async () => {
    const plain = await tokensOf({ temperature: 0 })
    expect(await tokensOf({ ...penalties, repeatLastN: 0, temperature: 0 })).toEqual(plain)
  })

  it('DRY keeps a repetition from going on, by its length', async () => {
    const again = Int32Array.from({ length: 90 }, (_, i) => 65 + (i % 9))
    const dry = (logits: Float32Array, past: number[]) => {
      const longest = new Map<number, number>()
      const tail = past.slice(-50)
      for (let i = 1; i < tail.length; i++) {
        let n = 0
        while (n < i && tail[i - 1 - n] === tail[tail.length - 1 - n]) n++
        const token = tail[i] as number
        if (n >= 3) longest.set(token, Math.max(n, longest.get(token) ?? 0))
      }
      for (const [token, n] of longest) {
        logits[token] = (logits[token] as number) - Math.fround(0.5 * 2 ** (n - 3))
      }
      return argmax(logits)
    }
    const tokens = await tokensOf(
      {
        temperature: 0,
        dryMultiplier: 0.5,
        dryBase: 2,
        dryAllowedLength: 3,
        dryPenaltyLastN: 50,
        drySequenceBreakers: [],
      },
      again,
    )
    const read = async (context: Context) => (await context.prefill(again)).logits as Float32Array
    expect(tokens).toEqual(await reference(again, dry, read))
  })
})

describe('samplers', () => {
  const sorted = (logits: Float32Array) =>
    Array.from(logits, (logit, token) => ({ logit, token }))
      .filter(({ logit }) => logit > Number.NEGATIVE_INFINITY)
      .sort((a, b) => b.logit - a.logit)
      .map(({ token }) => token)
  const xtc = { xtcProbability: 1, xtcThreshold: 0 }

  it('run in the order that is asked for', async () => {
    const second = await reference(prompt, (logits) => sorted(logits)[1] as number, behindPrompt)
    expect(await tokensOf({ ...xtc, topK: 2, samplers: ['top_k', 'xtc'] })).toEqual(second)
    const last = await reference(prompt, (logits) => sorted(logits).at(-1) as number, behindPrompt)
    expect(await tokensOf({ ...xtc, topK: 2, samplers: ['xtc', 'top_k'] })).toEqual(last)
  })

  it('do nothing that is not among them', async () => {
    const greedy = await tokensOf({ temperature: 0 })
    expect(await tokensOf({ temperature: 0, samplers: [] })).toEqual(await tokensOf({}))
    expect(await tokensOf({ temperature: 0, topK: 1, samplers: ['top-k' as 'top_k'] })).toEqual(greedy)
    expect(await tokensOf({ temperature: 0, samplers: [] })).not.toEqual(greedy)
  })

  it('typical takes what is as surprising as expected', async () => {
    const typical = (logits: Float32Array) => {
      const log = logSoftmax(logits)
      const entropy = log.reduce((sum, l) => sum - (l > Number.NEGATIVE_INFINITY ? Math.exp(l) * l : 0), 0)
      return argmax(Float32Array.from(log, (l) => -Math.abs(-l - entropy)))
    }
    const expected = await reference(prompt, typical, behindPrompt)
    expect(await tokensOf({ typicalP: 1e-6, samplers: ['typ_p'] })).toEqual(expected)
  })

  it.each<[string, GenerateOptions, GenerateOptions]>([
    ['top n sigma', { topNSigma: 1e-6 }, { topNSigma: 5 }],
    ['Mirostat 2', { mirostat: 2, mirostatTau: 0 }, { mirostat: 2, mirostatTau: 20 }],
    ['Mirostat 1, cold', { mirostat: 1, temperature: 0 }, { mirostat: 1, mirostatTau: 20 }],
    ['a dynamic temperature', { temperature: 0, dynatempRange: 0 }, { temperature: 0, dynatempRange: 8 }],
    [
      'adaptive p',
      { topK: 1, samplers: ['top_k', 'adaptive_p'] },
      { samplers: ['adaptive_p'], adaptiveTarget: 0 },
    ],
  ])('%s goes from greedy to open', async (_, narrow, wide) => {
    const greedy = await tokensOf({ temperature: 0 })
    expect(await tokensOf(narrow)).toEqual(greedy)
    expect(await tokensOf(wide)).not.toEqual(greedy)
    expect(await tokensOf(wide)).toEqual(await tokensOf(wide))
  })
})

function logSoftmax(logits: ArrayLike<number>): number[] {
  const values = Array.from(logits)
  const max = Math.max(...values)
  const sum = Math.log(values.reduce((total, value) => total + Math.exp(value - max), 0))
  return values.map((value) => value - max - sum)
}

describe('logprobs', () => {
  it('are the log-softmax of the logits, whatever is sampled', async () => {
    await using context = await tinyContext()
    await using other = await tinyContext()
    let { logits } = await other.prefill(prompt)
    const options = {
      ...open,
      ...penalties,
      temperature: 3,
      logprobs: 5,
      logitBias: { 65: 4, 66: false },
    } as const
    for await (const { token, logprob, topLogprobs } of context.generate(prompt, options)) {
      const log = logSoftmax(logits as Float32Array)
      const best = log.map((value, id) => ({ value, id })).sort((a, b) => b.value - a.value)
      expect(logprob).toBeCloseTo(log[token] as number, 4)
      expect(topLogprobs?.map((one) => one.token)).toEqual(best.slice(0, 5).map(({ id }) => id))
      for (const [i, one] of (topLogprobs ?? []).entries()) {
        expect(one.logprob).toBeCloseTo(best[i]?.value as number, 4)
        if (one.token < 256) expect([...one.bytes]).toEqual([one.token])
      }
      logits = (await other.decode(token)).logits
    }
  })

  it("are the token's own with 0, all with many, none without", async () => {
    await using context = await tinyContext()
    const first = async (logprobs?: number) => {
      for await (const token of context.generate(prompt, {
        nPredict: 1,
        ...(logprobs !== undefined && { logprobs }),
      })) {
        return token
      }
      return undefined
    }
    expect(await first(0)).toMatchObject({ logprob: expect.any(Number), topLogprobs: [] })
    const all = (await first(1e6)) as { topLogprobs: { logprob: number }[] }
    expect(all.topLogprobs).toHaveLength(context.model.nVocab)
    expect(all.topLogprobs.reduce((sum, one) => sum + Math.exp(one.logprob), 0)).toBeCloseTo(1, 4)
    expect(await first()).not.toHaveProperty('logprob')
  })
})

describe('logitBias', () => {
  it('adds to a logit, and forbids', async () => {
    expect(await tokensOf({ logitBias: { 65: 1e6 } })).toEqual(Array(nPredict).fill(65))
    const [first] = await tokensOf({ temperature: 0 })
    const second = await reference(
      prompt,
      (logits, past) => {
        if (past.length > 0) logits[first as number] = Number.NEGATIVE_INFINITY
        return argmax(logits)
      },
      behindPrompt,
    )
    expect(await tokensOf({ temperature: 0, logitBias: { [first as number]: false } })).toEqual(second)
    expect(
      await tokensOf({ temperature: 0, logitBias: { [first as number]: Number.NEGATIVE_INFINITY } }),
    ).toEqual(second)
  })

  it('leaves the context usable where it forbids everything', async () => {
    await using context = await tinyContext()
    const none = Object.fromEntries(
      Array.from({ length: context.model.nVocab }, (_, id) => [id, false as const]),
    )
    await expect(collect(context.generate(prompt, { logitBias: none }))).rejects.toMatchObject({
      code: 'ERR_H2O_SAMPLING',
      details: { position: prompt.length },
    })
    expect(context.position).toBe(prompt.length)
    expect((await collect(context.generate(prompt, { ...open, temperature: 0 }))).tokens).toEqual(
      await tokensOf({ temperature: 0 }),
    )
  })
})

describe('an option out of bounds', () => {
  it.each<[object, string?]>([
    [{ temperature: -1 }],
    [{ temperature: Number.NaN }],
    [{ dynatempRange: -1 }],
    [{ dynatempExponent: Number.POSITIVE_INFINITY }],
    [{ typicalP: 1.1 }],
    [{ topNSigma: '1' }],
    [{ xtcProbability: 2 }],
    [{ xtcThreshold: -0.1 }],
    [{ repeatLastN: -1 }],
    [{ repeatLastN: 2 ** 31 }],
    [{ repeatPenalty: 0 }],
    [{ repeatPenalty: Number.POSITIVE_INFINITY }],
    [{ frequencyPenalty: Number.NaN }],
    [{ presencePenalty: null }],
    [{ dryMultiplier: -1 }],
    [{ dryBase: 0.9 }],
    [{ dryAllowedLength: 1.5 }],
    [{ dryPenaltyLastN: -1 }],
    [{ drySequenceBreakers: ['a', ''] }],
    [{ drySequenceBreakers: 'a' }],
    [{ drySequenceBreakers: Array.from({ length: 17 }, () => 'a') }],
    [{ adaptiveTarget: 2 }],
    [{ adaptiveDecay: 1 }],
    [{ mirostat: 3 }],
    [{ mirostatTau: -1 }],
    [{ mirostatEta: '0' }],
    [{ samplers: ['top_k', 'best'] }],
    [{ samplers: ['__proto__'] }],
    [{ samplers: Array(17).fill('typ_p') }],
    [{ samplers: [Symbol('x')] }],
    [{ samplers: [Object.create(null)] }],
    [{ samplers: 'top_k' }],
    [{ samplers: ['dry', 'top_k', 'dry'] }],
    [{ logitBias: [1] }],
    [{ logitBias: new Map([[1, 2]]) }],
    [{ logitBias: { 65: Number.POSITIVE_INFINITY } }],
    [{ logitBias: { 65: true } }],
    [{ logitBias: { 99999: 1 } }, 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    [{ logitBias: { '-1': 1 } }, 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    [{ logitBias: { a: 1 } }, 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    [{ ignoreEos: 1 }],
    [{ logprobs: -1 }],
    [{ logprobs: true }],
  ])('%o', async (options, code = 'ERR_H2O_INVALID_ARGUMENT') => {
    await using context = await tinyContext()
    await expect(context.generate('a', options as never).next()).rejects.toMatchObject({ code })
  })

  it('the widest are all right', async () => {
    const wide = {
      repeatLastN: 2 ** 31 - 1,
      dryPenaltyLastN: 2 ** 31 - 1,
      repeatPenalty: 1e-6,
      frequencyPenalty: -1e6,
      presencePenalty: -1e6,
      dryMultiplier: 1e6,
      dryBase: 1e6,
      topK: 200,
      temperature: 1e-5,
      typicalP: 0.5,
    }
    expect(await tokensOf(wide, new Int32Array(300).fill(65))).toHaveLength(nPredict)
    expect(
      await tokensOf({ ...wide, repeatPenalty: 1e6, dynatempRange: 1e6, dynatempExponent: 1e6 }),
    ).toHaveLength(nPredict)
  })
})
