import { afterAll, describe, expect, it } from 'vitest'
import {
  type Context,
  createContext,
  type H2oErrorCode,
  loadModel,
  planPrefill,
  setLogLevel,
} from '../../../src/ts/index.js'
import { someTokens, tinyContext, tinyModel } from '../support.js'

const model = await loadModel(await tinyModel())
const context = await tinyContext({ model, nCtx: 512 })
afterAll(async () => {
  await context.dispose()
  await model.dispose()
})

describe('bad input leaves the context as it was', () => {
  const cases: [string, (c: Context) => Promise<unknown>, H2oErrorCode, object?][] = [
    ['an empty text', (c) => c.prefill(''), 'ERR_H2O_EMPTY_PROMPT'],
    ['no tokens', (c) => c.prefill([]), 'ERR_H2O_EMPTY_PROMPT'],
    ['an empty text to generate from', (c) => c.generate('').next(), 'ERR_H2O_EMPTY_PROMPT'],
    ['nothing to decode', (c) => c.decode([]), 'ERR_H2O_EMPTY_PROMPT'],
    [
      'a prompt longer than the context',
      (c) => c.prefill(someTokens(513)),
      'ERR_H2O_PROMPT_TOO_LONG',
      { nPrompt: 513, nCtx: 512, position: 0 },
    ],
    [
      'a text longer than the context',
      (c) => c.prefill('x'.repeat(600)),
      'ERR_H2O_PROMPT_TOO_LONG',
      { nPrompt: 600, nCtx: 512 },
    ],
    [
      'an appended prompt that does not fit',
      (c) => c.prefill(someTokens(503), { append: true }),
      'ERR_H2O_PROMPT_TOO_LONG',
      { nPrompt: 503, nCtx: 512, position: 10 },
    ],
    [
      'a prompt to generate from that does not fit',
      (c) => c.generate(someTokens(513)).next(),
      'ERR_H2O_PROMPT_TOO_LONG',
    ],
    [
      'a call of more than nBatch tokens',
      (c) => c.decode(someTokens(193)),
      'ERR_H2O_BATCH_TOO_LARGE',
      { nTokens: 193, nBatch: 192 },
    ],
    [
      'a token above the vocabulary',
      (c) => c.prefill([1, 258]),
      'ERR_H2O_TOKEN_OUT_OF_RANGE',
      { token: 258, index: 1, nVocab: 258 },
    ],
    ['a negative token', (c) => c.prefill([-1]), 'ERR_H2O_TOKEN_OUT_OF_RANGE', { token: -1, index: 0 }],
    ['half a token', (c) => c.decode(0.5), 'ERR_H2O_TOKEN_OUT_OF_RANGE', { token: 0.5 }],
    ['a token beyond 32 bits', (c) => c.decode(2 ** 32), 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    ['NaN as token', (c) => c.decode(Number.NaN), 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    ['a list with a hole', (c) => c.prefill(new Array(3)), 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    ['no prompt', (c) => c.prefill(undefined as never), 'ERR_H2O_INVALID_ARGUMENT'],
    ['null as prompt', (c) => c.prefill(null as never), 'ERR_H2O_INVALID_ARGUMENT'],
    ['an object as prompt', (c) => c.prefill({} as never), 'ERR_H2O_INVALID_ARGUMENT'],
    ['unknown logits', (c) => c.prefill('a', { logits: 'some' as never }), 'ERR_H2O_INVALID_ARGUMENT'],
    ['unknown logits to decode', (c) => c.decode(1, { logits: 1 as never }), 'ERR_H2O_INVALID_ARGUMENT'],
    ['append no boolean', (c) => c.prefill('a', { append: 1 as never }), 'ERR_H2O_INVALID_ARGUMENT'],
    [
      'a signal that has the prototype alone',
      (c) => c.prefill('a', { signal: Object.create(AbortSignal.prototype) }),
      'ERR_H2O_INVALID_ARGUMENT',
    ],
    ['a signal that is none', (c) => c.prefill('a', { signal: {} as never }), 'ERR_H2O_INVALID_ARGUMENT'],
    ['onProgress no function', (c) => c.prefill('a', { onProgress: 1 as never }), 'ERR_H2O_INVALID_ARGUMENT'],
    ['a negative position', (c) => c.truncate(-1), 'ERR_H2O_INVALID_ARGUMENT'],
    ['a position that is none', (c) => c.truncate('0' as never), 'ERR_H2O_INVALID_ARGUMENT'],
    ['a position above the context', (c) => c.truncate(513), 'ERR_H2O_INVALID_ARGUMENT'],
    ['no position', (c) => c.truncate(undefined as never), 'ERR_H2O_INVALID_ARGUMENT'],
    ['half a range', (c) => c.removeRange(2, undefined as never), 'ERR_H2O_INVALID_ARGUMENT'],
    ['a range backwards', (c) => c.removeRange(5, 4), 'ERR_H2O_INVALID_ARGUMENT'],
    ['append and from', (c) => c.prefill('a', { append: true, from: 3 }), 'ERR_H2O_INVALID_ARGUMENT'],
    ['a negative from', (c) => c.prefill('a', { from: -1 }), 'ERR_H2O_INVALID_ARGUMENT'],
    ['from beyond the end', (c) => c.prefill('a', { from: 11 }), 'ERR_H2O_POSITION_OUT_OF_RANGE'],
    ['null as options', (c) => c.prefill('a', null as never), 'ERR_H2O_INVALID_ARGUMENT'],
    ['null as options of decode', (c) => c.decode(1, null as never), 'ERR_H2O_INVALID_ARGUMENT'],
    ['null as options of generate', (c) => c.generate('a', null as never).next(), 'ERR_H2O_INVALID_ARGUMENT'],
    [
      'a stop of half a surrogate pair',
      (c) => c.generate('a', { stop: ['\udc00b'] }).next(),
      'ERR_H2O_INVALID_ARGUMENT',
    ],
    [
      'an unknown option',
      (c) => c.prefill('a', { stop: 'x' } as never),
      'ERR_H2O_INVALID_ARGUMENT',
      { option: 'stop' },
    ],
    [
      'an unknown option of decode',
      (c) => c.decode(1, { logit: 'all' } as never),
      'ERR_H2O_INVALID_ARGUMENT',
      { option: 'logit', nearest: 'logits' },
    ],
    [
      'an unknown option of generate',
      (c) => c.generate('a', { n_predict: 1 } as never).next(),
      'ERR_H2O_INVALID_ARGUMENT',
      { option: 'n_predict', nearest: 'nPredict' },
    ],
    [
      'logits to generate',
      (c) => c.generate('a', { logits: 'all' } as never).next(),
      'ERR_H2O_INVALID_ARGUMENT',
    ],
    ['a list without end', (c) => c.prefill({ length: 2 ** 40 }), 'ERR_H2O_INVALID_ARGUMENT'],
    ['an object as token', (c) => c.decode([Object.create(null)]), 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    ['a symbol as token', (c) => c.decode([Symbol('x')] as never), 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    ['a state that is none', (c) => c.loadState('x' as never), 'ERR_H2O_INVALID_ARGUMENT'],
    ['an empty state', (c) => c.loadState(new Uint8Array()), 'ERR_H2O_STATE_INVALID'],
    ['rubbish as state', (c) => c.loadState(new Uint8Array(1000).fill(7)), 'ERR_H2O_STATE_INVALID'],
  ]

  it.each(cases)('%s', async (_, act, code, details = {}) => {
    const before = await context.prefill(someTokens(10))
    const error = await act(context).then(
      () => undefined,
      (error) => error,
    )
    expect(error).toMatchObject({ name: 'H2oError', code, details })
    expect(error.message).not.toBe('')
    expect(context.position).toBe(10)
    expect((await context.prefill(someTokens(10))).logits).toEqual(before.logits)
  })

  it('fills the context to the last token', async () => {
    expect((await context.prefill(someTokens(512))).tokens).toBe(512)
    await expect(context.decode(65)).rejects.toMatchObject({
      code: 'ERR_H2O_PROMPT_TOO_LONG',
      details: { nPrompt: 1, nCtx: 512, position: 512 },
    })
  })
})

describe('bad input to a model', () => {
  const odd = Object.create(null)
  it.each<[string, () => unknown, H2oErrorCode]>([
    ['a token of isEog', () => model.isEog(odd), 'ERR_H2O_TOKEN_OUT_OF_RANGE'],
    ['a log level', () => setLogLevel(odd), 'ERR_H2O_INVALID_ARGUMENT'],
    ['options of tokenize', () => model.tokenize('a', null as never), 'ERR_H2O_INVALID_ARGUMENT'],
    [
      'an option of tokenize',
      () => model.tokenize('a', { parse_special: true } as never),
      'ERR_H2O_INVALID_ARGUMENT',
    ],
    [
      'an option of detokenize',
      () => model.detokenize([1], { special: true } as never),
      'ERR_H2O_INVALID_ARGUMENT',
    ],
    ['a plan of endless calls', () => planPrefill(2 ** 31 - 1, 1, 1, false), 'ERR_H2O_INVALID_ARGUMENT'],
  ])('%s', (_, act, code) => {
    expect(act).toThrow(expect.objectContaining({ name: 'H2oError', code }))
  })
})

describe('contexts that cannot be made', () => {
  it.each([
    ['far too long', { nCtx: 2 ** 31 - 256 }, 'ERR_H2O_CONTEXT_MEMORY'],
    ['with a block of the cache type above the head size', { typeK: 'q8_0' }, 'ERR_H2O_INVALID_ARGUMENT'],
    ['and the same for V', { typeV: 'q4_0', flashAttn: 'on' }, 'ERR_H2O_INVALID_ARGUMENT'],
  ] as const)('%s', async (_, options, code) => {
    const error = await tinyContext({ model, ...options }).catch((error) => error)
    expect(error).toMatchObject({ name: 'H2oError', code })
    if (code === 'ERR_H2O_CONTEXT_MEMORY') expect(error.hint).toContain('-b')
    // the model is as good as before
    await (await tinyContext({ model })).dispose()
  })

  it('with compute buffers beyond any memory', async () => {
    const path = await tinyModel({ heads: 16, hidden: 64 })
    const huge = { nCtx: 2 ** 22, nBatch: 2 ** 22, nUbatch: 2 ** 22, flashAttn: 'off', h2o: false } as const
    const error = await createContext({ model: path, ...huge }).catch((error) => error)
    expect(error).toMatchObject({ name: 'H2oError', code: 'ERR_H2O_CONTEXT_MEMORY' })
    expect(error.hint).toContain('-b')
  })
})
