/** Sequences of one context: each is as if it were alone, whatever the others do, and none waits long for another. */

import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Context, ContextOptions, Sequence } from '../../../src/ts/index.js'
import type { NativeCall } from '../../../src/ts/native/surface.js'
import { handleOf } from '../../../src/ts/sequence.js'
import { collect, memoryWays, policyWays, someTokens, tinyContext, tinyModel, type Way } from '../support.js'

const S = 64
const nOps = Number(process.env.H2O_PARALLEL_OPERATIONS ?? 60)
const greedy = { temperature: 0, ignoreEos: true }

afterEach(() => {
  vi.restoreAllMocks()
})

/** The context and its further sequences. */
async function opened(options: Partial<ContextOptions> = {}): Promise<[Context, Sequence[]]> {
  const context = await tinyContext({ parallel: 4, ...options })
  return [context, [context, ...Array.from({ length: context.parallel - 1 }, () => context.sequence())]]
}

/** Native decode calls as they are made. */
function logged(context: Context): { sequence: number; n: number }[] {
  const { native } = context[handleOf]().shared
  const log: { sequence: number; n: number }[] = []
  const decode = native.decode.bind(native)
  vi.spyOn(native, 'decode').mockImplementation((sequence, tokens, ...rest): Promise<NativeCall> => {
    log.push({ sequence, n: tokens.length })
    return decode(sequence, tokens, ...rest)
  })
  return log
}

function readsAsAlone(...[name, way]: Way) {
  it('sequences that read and answer at once have the bits of contexts of their own', async () => {
    const options = await way()
    const [context, sequences] = await opened(options)
    const work = async (sequence: Sequence, i: number) => {
      const prompt = someTokens(200 + 77 * i, i)
      const { logits, path, reason } = await sequence.prefill(prompt, { reuse: false })
      const { tokens } = await collect(
        sequence.generate(someTokens(30, 9), { append: true, nPredict: 12, ...greedy }),
      )
      const { summary } = await collect(sequence.generate(prompt, { nPredict: 3, ...greedy }))
      return { logits, path, reason, tokens, text: summary.text, position: sequence.position }
    }
    const together = await Promise.all(sequences.map(work))
    await context.dispose()
    for (const [i, got] of together.entries()) {
      await using alone = await tinyContext(options)
      expect(got.path).toBe(name === 'dense' ? 'dense' : 'h2o')
      expect(got).toEqual(await work(alone, i))
    }
  })
}
describe.each(memoryWays)('%s', readsAsAlone)
describe.each(policyWays)('%s', { tags: ['ways'] }, readsAsAlone)

describe('a long prompt beside answers', () => {
  it('lets each of them have its token after every chunk', async () => {
    const [context, [reader, a, b]] = (await opened()) as [Context, [Sequence, Sequence, Sequence]]
    for (const chat of [a, b]) await chat.prefill(someTokens(20, 5))
    const log = logged(context)
    const reading = reader.prefill(someTokens(12 * S + 5))
    const answers = [a, b].map((chat) =>
      collect(chat.generate(someTokens(3), { append: true, nPredict: 10, ...greedy })),
    )
    await Promise.all([reading, ...answers])
    for (const chat of [1, 2]) {
      const steps = log.flatMap(({ sequence, n }, at) => (sequence === chat && n === 1 ? [at] : []))
      expect(steps).toHaveLength(9) // the first token is drawn with the question
      for (const [i, at] of steps.slice(1).entries()) {
        const between = log.slice((steps[i] as number) + 1, at).filter(({ n }) => n > 1)
        expect(between.length).toBeLessThanOrEqual(1)
      }
    }
    expect(Math.max(...log.map(({ n }) => n))).toBeLessThanOrEqual(S)
    await context.dispose()
  })

  it('is read by turns with others of its priority, and behind those with a higher one', async () => {
    const [context, [first, second, urgent]] = (await opened()) as [Context, [Sequence, Sequence, Sequence]]
    const log = logged(context)
    await Promise.all([
      first.prefill(someTokens(6 * S), { denseTail: 0 }),
      second.prefill(someTokens(6 * S, 2), { denseTail: 0 }),
      urgent.prefill(someTokens(3 * S, 3), { denseTail: 0, priority: 1 }),
    ])
    const order = log.map(({ sequence }) => sequence)
    expect(order.slice(order.lastIndexOf(2) + 1).length).toBeGreaterThanOrEqual(11)
    expect(order.filter((sequence) => sequence < 2).slice(0, 8)).toEqual([0, 1, 0, 1, 0, 1, 0, 1])
    await context.dispose()
  })

  it('is a text of a higher priority, and is made into tokens before them, too', async () => {
    const [context, [reader, urgent]] = (await opened()) as [Context, [Sequence, Sequence]]
    const log = logged(context)
    const whole = reader.prefill(someTokens(12 * S), { denseTail: 0, priority: 1 })
    await vi.waitUntil(() => log.length > 1, { interval: 1 })
    const before = log.length // some of 12, as long as this thread takes to look
    await urgent.prefill('a text', { priority: 9 })
    expect(log.length - before).toBeLessThan(5)
    await whole
    await context.dispose()
  })

  it('does not wait for who takes no token', async () => {
    const [context, [reader, slow]] = (await opened()) as [Context, [Sequence, Sequence]]
    const answer = slow.generate(someTokens(20), { nPredict: 5, ...greedy })
    await answer.next()
    expect(await reader.prefill(someTokens(400))).toMatchObject({ path: 'h2o', tokens: 400 })
    expect((await collect(answer)).tokens).toHaveLength(4)
    await context.dispose()
  })

  it('that is aborted, running or waiting, leaves whole calls and the others as they are', async () => {
    const prompt = someTokens(12 * S)
    const question = someTokens(30, 7)
    await using alone = await tinyContext()
    const expected = await collect(alone.generate(question, { nPredict: 12, ...greedy }))
    const [context, [reader, other, chat]] = (await opened()) as [Context, [Sequence, Sequence, Sequence]]
    const log = logged(context)
    for (const after of [1, 3, 6]) {
      const stop = new AbortController()
      const reading = reader.prefill(prompt, { signal: stop.signal, reuse: false })
      const waiting = other.prefill(prompt, { signal: stop.signal, reuse: false })
      const answer = collect(chat.generate(question, { nPredict: 12, ...greedy }))
      const ended = [reading, waiting].map((read) => expect(read).rejects.toThrow('enough'))
      const begun = log.length
      await vi.waitUntil(() => log.length >= begun + after, { interval: 1 })
      stop.abort(new Error('enough'))
      await Promise.all(ended)
      expect((await answer).tokens).toEqual(expected.tokens)
      for (const sequence of [reader, other]) expect(sequence.position % S).toBe(0)
      const { position } = reader
      const rest = await reader.prefill(prompt.subarray(position), { from: position })
      expect(rest.logits).toEqual((await alone.prefill(prompt)).logits)
    }
    await context.dispose()
  })
})

describe('sequences', () => {
  it('are as many as were asked for, and free again when they are disposed', async () => {
    const [context, sequences] = await opened({ parallel: 2 })
    const second = sequences[1] as Sequence
    expect(() => context.sequence()).toThrow(
      expect.objectContaining({ code: 'ERR_H2O_NO_SEQUENCE', details: { parallel: 2 } }),
    )
    await second.prefill(someTokens(100))
    const reading = second.prefill(someTokens(600, 2))
    const ended = expect(reading).rejects.toMatchObject({ code: 'ERR_H2O_DISPOSED', message: /sequence/ })
    await Promise.all([second.dispose(), ended])
    await expect(second.prefill([1])).rejects.toMatchObject({ code: 'ERR_H2O_DISPOSED' })
    const third = context.sequence()
    expect(third.position).toBe(0)
    const { logits } = await third.prefill(someTokens(100))
    expect((await context.prefill(someTokens(100))).logits).toEqual(logits)
    const waiting = expect(third.prefill(someTokens(600))).rejects.toMatchObject({ code: 'ERR_H2O_DISPOSED' })
    await context.dispose()
    await waiting
    expect(third.disposed).toBe(true)
    expect(() => context.sequence()).toThrow(expect.objectContaining({ code: 'ERR_H2O_DISPOSED' }))
  })

  it('have states that go from one to another of the context, and to no context of another number', async () => {
    const [context, [first, second]] = (await opened()) as [Context, [Sequence, Sequence]]
    const prompt = someTokens(300)
    await first.prefill(prompt)
    const state = await first.saveState()
    expect(await second.loadState(state)).toMatchObject({ position: 300, inherited: true })
    const question = someTokens(20, 3)
    const answers = [first, second].map((sequence) => sequence.prefill(question, { append: true }))
    const [a, b] = await Promise.all(answers)
    expect(b?.logits).toEqual(a?.logits)
    await using alone = await tinyContext()
    await alone.prefill(prompt)
    await expect(alone.loadState(state)).rejects.toMatchObject({ code: 'ERR_H2O_STATE_INVALID' })
    expect(alone.position).toBe(300)
    await expect(second.loadState(await alone.saveState())).rejects.toMatchObject({
      code: 'ERR_H2O_STATE_INVALID',
    })
    expect(second.position).toBe(320)
    await context.dispose()
  })

  it('have states with which sliding windows go back as far as before', async () => {
    const model = await tinyModel({ arch: 'gemma3', layers: 6 })
    const [context, [, second]] = (await opened({ model })) as [Context, [Context, Sequence]]
    await using alone = await tinyContext({ model })
    const logits = async (sequence: Sequence) => {
      await sequence.prefill(someTokens(150))
      await sequence.loadState(await sequence.saveState())
      await sequence.truncate(100)
      return (await sequence.decode(5)).logits
    }
    expect(await logits(second)).toEqual(await logits(alone))
    await context.dispose()
  })

  it('end what was expected of a prompt that is aborted, with the next call', async () => {
    const [context, [, second]] = (await opened()) as [Context, [Context, Sequence]]
    const stop = new AbortController()
    const onProgress = ({ done }: { done: number }) => done >= 2 * S && stop.abort(new Error('enough'))
    const options = { signal: stop.signal, denseTail: 0, onProgress }
    await expect(second.prefill(someTokens(8 * S), options)).rejects.toThrow('enough')
    expect(second.position).toBeLessThan(8 * S)
    expect((await second.decode(5)).call).toMatchObject({ path: 'dense', reason: 'one-chunk' })
    const { summary } = await collect(
      second.generate(someTokens(9), { append: true, nPredict: 3, ...greedy }),
    )
    expect(summary.prefill).toMatchObject({ path: 'dense' })
    await context.dispose()
  })

  it('keep their memory sets where another loads a state of other settings', async () => {
    const votes = (local: number) => ({ h2o: { local, heavy: 16, select: 'votes' } }) as const
    const [other] = await opened(votes(8))
    await other.prefill(someTokens(300, 5))
    const state = await other.saveState()
    await other.dispose()
    const [context, [, second]] = (await opened(votes(16))) as [Context, [Context, Sequence]]
    await second.prefill(someTokens(300, 7), { denseTail: 0 })
    expect(await context.loadState(state)).toMatchObject({ inherited: false })
    const { calls } = await second.prefill(someTokens(300, 3), { append: true, denseTail: 0 })
    expect(calls[0]?.inherited).toBe(32)
    await context.dispose()
  })

  it('record nothing for who has the sequence next', async () => {
    const trace = { h2o: { local: 16, heavy: 16, trace: true } }
    const [context, [, second]] = (await opened({ parallel: 2, ...trace })) as [Context, [Context, Sequence]]
    await second.prefill(someTokens(300))
    await second.dispose()
    const next = context.sequence()
    expect(next.takeTrace()).toEqual([])
    await next.prefill(someTokens(300))
    expect(next.takeTrace().length).toBeGreaterThan(0)
    await context.dispose()
  })

  it('take nBatch tokens in a call, dense ones too, and cut prompts for the others', async () => {
    const [context, [, second]] = (await opened({ h2o: false })) as [Context, [Context, Sequence]]
    expect((await second.decode(someTokens(3 * S))).call.n).toBe(3 * S)
    const { calls } = await second.prefill(someTokens(400, 2))
    expect(Math.max(...calls.map(({ n }) => n))).toBe(S)
    expect(second.reusable(someTokens(400, 2))).toBe(400 - (400 % S))
    await context.dispose()
  })

  it('offer nothing that a recurrent state cannot go back to', async () => {
    const model = await tinyModel({ arch: 'lfm2', layers: 6 })
    const [context, [, second]] = (await opened({ model })) as [Context, [Context, Sequence]]
    const prompt = someTokens(4 * S + 9, 3)
    await second.prefill(prompt.subarray(0, 4 * S), { denseTail: 0 })
    expect(second.reusable(prompt, 0)).toBe(0) // a rest of a chunk would be dense
    expect(second.reusable(someTokens(6 * S, 3), 0)).toBe(4 * S)
    expect(second[handleOf]().offered()).toHaveLength(4 * S)
    await second.decode(5)
    expect(second.reusable(someTokens(6 * S, 3), 0)).toBe(0)
    expect(second[handleOf]().offered()).toHaveLength(0)
    await context.dispose()
  })

  it('that are cleared read as a fresh context does, whatever their windows were', async () => {
    const model = await tinyModel({ arch: 'gemma3', layers: 6 })
    const [context, [, second]] = (await opened({ model })) as [Context, [Context, Sequence]]
    await second.prefill(someTokens(388))
    await second.loadState(await second.saveState()) // cells in another order
    await second.prefill(someTokens(105, 1), { append: true })
    await second.prefill(someTokens(189, 2), { append: true })
    await second.clear()
    await using fresh = await tinyContext({ model })
    const prompt = someTokens(250, 3)
    expect((await second.prefill(prompt)).logits).toEqual((await fresh.prefill(prompt)).logits)
    await context.dispose()
  })

  it('load an empty state, and are empty', async () => {
    const [context, [, second]] = (await opened()) as [Context, [Context, Sequence]]
    const empty = await second.saveState()
    await second.prefill(someTokens(100))
    expect(await second.loadState(empty)).toMatchObject({ position: 0 })
    expect(second.position).toBe(0)
    await context.dispose()
  })

  it('reuse a beginning where a call has two chunks', async () => {
    const prompt = someTokens(500)
    for (const parallel of [1, 2]) {
      const context = await tinyContext({ parallel, nBatch: 2 * S })
      await context.prefill(prompt)
      expect(context.reusable(prompt)).toBe(6 * S)
      await context.dispose()
    }
  })

  it('offer nothing to others while a state takes the place of what they hold', async () => {
    const [context, [, second]] = (await opened()) as [Context, [Context, Sequence]]
    const handle = context[handleOf]()
    await context.prefill(someTokens(400, 11))
    const state = await context.saveState()
    await context.prefill(someTokens(300, 7))
    expect(handle.offered().length).toBeGreaterThan(0)
    const restored = handle.restore(state)
    expect(handle.offered()).toHaveLength(0)
    await restored
    expect([...handle.offered()]).toEqual([...someTokens(400, 11).subarray(0, handle.offered().length)])
    await second.dispose()
    await context.dispose()
  })

  it.each([
    ['llama', {}],
    ['lfm2', { layers: 6 }],
    ['gemma3', { layers: 6 }],
  ] as const)('of %s are read, asked, cut and disposed at random as contexts of their own', async (arch, spec) => {
    const model = await tinyModel({ arch, ...spec })
    const [context, sequences] = await opened({ model, parallel: 3 })
    const alone = await Promise.all(sequences.map(() => tinyContext({ model })))
    let state = 7
    const draw = (n: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return (state >>> 8) % n
    }
    const act = async (sequence: Sequence, kind: number, seed: number, at: number) => {
      const text = someTokens(1 + (seed % 300), seed)
      if (kind === 0) return sequence.truncate(Math.min(at, sequence.position))
      if (kind === 1) return (await sequence.prefill(text)).logits
      if (kind === 5) {
        const state = await sequence.saveState()
        await sequence.prefill(text)
        return (await sequence.loadState(state)).position
      }
      if (sequence.position + text.length + 6 > sequence.nCtx) return sequence.clear()
      if (kind === 2) return (await sequence.prefill(text, { append: true })).logits
      return (await collect(sequence.generate(text, { append: kind === 3, nPredict: 5, ...greedy }))).tokens
    }
    const outcome = (sequence: Sequence, drawn: readonly [number, number, number] = [0, 0, 0]) =>
      act(sequence, ...drawn).catch((error) => error.code)
    for (let round = 0; round < nOps / 3; round++) {
      const drawn = sequences.map(() => [draw(6), draw(1000), draw(400)] as const)
      const together = await Promise.all(sequences.map((sequence, i) => outcome(sequence, drawn[i])))
      for (const [i, context] of alone.entries()) {
        expect(together[i]).toEqual(await outcome(context, drawn[i]))
        expect(sequences[i]?.position).toBe(context.position)
      }
    }
    for (const one of [context, ...alone]) await one.dispose()
  })
})
