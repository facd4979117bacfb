import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  type Context,
  type ContextOptions,
  createContext,
  loadModel,
  planPrefill,
} from '../../../src/ts/index.js'
import { collect, someTokens, tinyContext, tinyModel } from '../support.js'

/** The positions at which a prefill may be interrupted: between calls. */
function boundaries(context: Context, n: number): number[] {
  let position = 0
  const calls = planPrefill(n, context.nBatch, context.nUbatch, context.h2o.covered, context.h2o.denseTail)
  return [0, ...calls.map((call) => (position += call))]
}

function leavesWholeCalls(h2o: NonNullable<ContextOptions['h2o']>) {
  const n = 900

  it('at any moment leaves whole calls, and going on gives the bits of no abort', async () => {
    const model = await tinyModel({ layers: 4, hidden: 128, ffn: 512 })
    await using context = await tinyContext({ model, h2o })
    const tokens = someTokens(n)
    const whole = await context.prefill(tokens)
    const stops = boundaries(context, n)
    const interrupted = new Set<number>()
    for (let round = 0; round < 24; round++) {
      const abort = new AbortController()
      const reason = new Error(`round ${round}`)
      const prefill = context.prefill(tokens, { reuse: false, signal: abort.signal })
      const timer = sleep((whole.timings.promptMs * round) / 24).then(() => abort.abort(reason))
      const end = await prefill.then(
        () => 'done',
        (error) => error,
      )
      if (end !== 'done') expect(end).toBe(reason)
      expect(stops).toContain(context.position)
      if (context.position < n) {
        interrupted.add(context.position)
        const rest = await context.prefill(tokens.subarray(context.position), { append: true })
        expect(rest.logits).toEqual(whole.logits)
        expect(rest.calls).toEqual(whole.calls.slice(whole.calls.length - rest.calls.length))
      }
      expect(context.position).toBe(n)
      await timer
    }
    expect(interrupted.size).toBeGreaterThan(1)
  })

  it('between calls, from the progress listener', async () => {
    await using context = await tinyContext({ h2o })
    const tokens = someTokens(n)
    const whole = await context.prefill(tokens)
    const abort = new AbortController()
    let ended = 0
    const prefill = context.prefill(tokens, {
      reuse: false,
      signal: abort.signal,
      onProgress: ({ call }) => {
        if (call && ++ended === 2) abort.abort()
      },
    })
    await expect(prefill).rejects.toMatchObject({ name: 'AbortError' })
    expect(context.position).toBe(boundaries(context, n)[2])
    const rest = await context.prefill(tokens.subarray(context.position), { append: true })
    expect(rest.logits).toEqual(whole.logits)
  })

  it('within one long call', async () => {
    const model = await tinyModel({ layers: 4, hidden: 256, ffn: 1024 })
    await using context = await tinyContext({ model, h2o, nCtx: 4096, nBatch: 4096, nUbatch: 256 })
    const tokens = someTokens(4000)
    const whole = await context.prefill(tokens, { logits: 'none' })
    await context.prefill(tokens.subarray(0, 90), { logits: 'none' })
    const abort = new AbortController()
    let done = 0
    const prefill = context.prefill(tokens.subarray(90), {
      append: true,
      signal: abort.signal,
      onProgress: (progress) => {
        done = progress.done
        abort.abort('enough')
      },
    })
    const start = performance.now()
    await expect(prefill).rejects.toBe('enough')
    expect(done).toBeLessThan(3910) // it was in the middle of the call
    expect(performance.now() - start).toBeLessThan(whole.timings.promptMs)
    expect(context.position).toBe(90)
    const abortedThen = await context.decode(65)
    await context.prefill(tokens.subarray(0, 90), { logits: 'none' })
    expect((await context.decode(65)).logits).toEqual(abortedThen.logits)
  })
}
describe.each([
  ['with H2O', { local: 16, heavy: 16 }],
  ['without H2O', false],
] as const)('abort %s', (_, h2o) => leavesWholeCalls(h2o))
describe('abort with H2O in two passes', { tags: ['ways'] }, () =>
  leavesWholeCalls({ local: 16, heavy: 16, schedule: 'two-pass' }),
)

describe('abort', () => {
  it('before the start touches nothing', async () => {
    await using context = await tinyContext()
    await context.prefill('something')
    const signal = AbortSignal.abort('early')
    await expect(context.prefill('other', { signal })).rejects.toBe('early')
    await expect(context.decode(65, { signal })).rejects.toBe('early')
    await expect(collect(context.generate('other', { signal }))).rejects.toBe('early')
    expect(context.position).toBe(9)
  })

  it('of a generation ends it at the next token', async () => {
    await using context = await tinyContext()
    const abort = new AbortController()
    let seen = 0
    const run = async () => {
      for await (const _ of context.generate('abc', { ignoreEos: true, signal: abort.signal })) {
        if (++seen === 5) abort.abort('stop')
      }
    }
    await expect(run()).rejects.toBe('stop')
    expect(seen).toBe(5)
    expect(context.position).toBe(3 + 4)
    expect((await context.prefill('abc')).tokens).toBe(3)
  })

  it('of one that waits leaves the one that runs', async () => {
    await using context = await tinyContext()
    const abort = new AbortController()
    const first = context.prefill(someTokens(600))
    const second = context.prefill(someTokens(600, 2), { signal: abort.signal })
    const third = context.prefill(someTokens(5))
    abort.abort('second')
    await expect(second).rejects.toBe('second')
    expect((await first).tokens).toBe(600)
    expect((await third).tokens).toBe(5)
  })

  it('of a recurrent model leaves whole calls or nothing', async () => {
    const model = await tinyModel({ arch: 'mamba', layers: 4 })
    await using context = await tinyContext({ model })
    const tokens = someTokens(900)
    const whole = await context.prefill(tokens)
    for (let round = 0; round < 6; round++) {
      const abort = new AbortController()
      const prefill = context.prefill(tokens, { reuse: false, signal: abort.signal }).catch(() => {})
      await sleep((whole.timings.promptMs * round) / 6)
      abort.abort()
      await prefill
      expect(boundaries(context, 900)).toContain(context.position)
      if (context.position === 900) continue
      const rest = await context.prefill(tokens.subarray(context.position), { append: true })
      expect(rest.logits).toEqual(whole.logits)
    }
  })

  it('forgets its listeners', async () => {
    await using context = await tinyContext()
    const { signal } = new AbortController()
    let listeners = 0
    const counted = <F extends (...args: never[]) => unknown>(method: F, step: number): F =>
      new Proxy(method, {
        apply(target, self, args) {
          listeners += step
          return Reflect.apply(target, self, args)
        },
      })
    signal.addEventListener = counted(signal.addEventListener, 1)
    signal.removeEventListener = counted(signal.removeEventListener, -1)
    await context.prefill('abc', { signal })
    await collect(context.generate('abc', { signal, nPredict: 3 }))
    expect(listeners).toBe(0)
  })
})

describe('a context', () => {
  it('does what it is asked in order', async () => {
    await using context = await tinyContext()
    const order: string[] = []
    const note = (name: string) => () => order.push(name)
    await Promise.all([
      context.prefill(someTokens(300)).then(note('prefill')),
      context.decode(65).then(note('decode')),
      collect(context.generate('abc', { append: true, nPredict: 3, ignoreEos: true })).then(note('generate')),
      context.truncate(10).then(note('truncate')),
      context.saveState().then(note('save')),
      context.clear().then(note('clear')),
    ])
    expect(order).toEqual(['prefill', 'decode', 'generate', 'truncate', 'save', 'clear'])
    expect(context.position).toBe(0)
  })

  it('leaves the event loop free', async () => {
    const model = await tinyModel({ layers: 4, hidden: 256, ffn: 1024 })
    await using context = await tinyContext({ model, nCtx: 2048, nBatch: 2048 })
    let ticks = 0
    const timer = setInterval(() => ticks++, 5)
    const { timings } = await context.prefill(someTokens(2000))
    clearInterval(timer)
    expect(timings.promptMs).toBeGreaterThan(50)
    expect(ticks).toBeGreaterThan(timings.promptMs / 50)
  })

  it('disposed in the middle of work ends the work', async () => {
    const context = await tinyContext({ nBatch: 512, nUbatch: 64 })
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const running = context.prefill(someTokens(900), { onProgress: () => begin() })
    const waiting = context.prefill('abc')
    const generation = context.generate('abc')
    const disposed = { code: 'ERR_H2O_DISPOSED' }
    const ends = [
      expect(running).rejects.toMatchObject(disposed),
      expect(waiting).rejects.toMatchObject(disposed),
    ]
    await begun
    await context.dispose()
    await Promise.all(ends)
    await expect(generation.next()).rejects.toMatchObject(disposed)
  })

  it('disposed in the middle of a generation ends it', async () => {
    const context = await tinyContext()
    const generation = context.generate('abc', { ignoreEos: true })
    await generation.next()
    await context.dispose()
    await expect(generation.next()).rejects.toMatchObject({ code: 'ERR_H2O_DISPOSED' })
  })

  it('is of no use after dispose', async () => {
    const context = await tinyContext()
    await context.prefill('abc')
    expect(context.dispose()).toBe(context.dispose())
    await context.dispose()
    expect(context.disposed).toBe(true)
    const uses = [
      context.prefill('abc'),
      context.decode(65),
      collect(context.generate('abc')),
      context.truncate(0),
      context.removeRange(0, 1),
      context.clear(),
      context.saveState(),
      context.loadState(new Uint8Array(100)),
      (async () => context.takeTrace())(),
    ]
    for (const use of uses) await expect(use).rejects.toMatchObject({ code: 'ERR_H2O_DISPOSED' })
  })

  it('owns the model that it loaded, and no other', async () => {
    const path = await tinyModel()
    const owner = await tinyContext({ model: path })
    const model = owner.model
    await owner.dispose()
    expect(model.disposed).toBe(true)
    const other = await createContext({ model: { path }, nCtx: 256, nThreads: 1 })
    await other.dispose()
    expect(other.model.disposed).toBe(true)

    const shared = await loadModel(path)
    const guest = await tinyContext({ model: shared })
    expect(guest.model).toBe(shared)
    await guest.dispose()
    expect(shared.disposed).toBe(false)
    await shared.dispose()
  })

  it('keeps the weights of a model that is disposed before it', async () => {
    const model = await loadModel(await tinyModel())
    const context = await tinyContext({ model })
    const { logits } = await context.prefill('a text')
    await model.dispose()
    expect((await context.prefill('a text')).logits).toEqual(logits)
    expect((await collect(context.generate('abc', { nPredict: 3, ignoreEos: true }))).tokens).toHaveLength(3)
    await context.dispose()
  })

  it('does not disturb another one of the same model', async () => {
    const model = await loadModel(await tinyModel())
    const contexts = await Promise.all([
      tinyContext({ model }),
      tinyContext({ model }),
      tinyContext({ model }),
    ])
    const first = contexts[0] as Context
    const texts = [1, 2, 3].map((seed) => someTokens(400, seed))
    const alone: unknown[] = []
    for (const text of texts) alone.push((await first.prefill(text)).logits)
    const together = await Promise.all(
      contexts.flatMap((context) => texts.map(async (text) => (await context.prefill(text)).logits)),
    )
    expect(together).toEqual([...alone, ...alone, ...alone])
    await Promise.all([...contexts.map((context) => context.dispose()), model.dispose()])
  })

  it('gives the same with any number of threads', async () => {
    const model = await loadModel(await tinyModel())
    const results: unknown[] = []
    for (const nThreads of [1, 2, 3]) {
      const context = await tinyContext({ model, nThreads })
      const { logits, calls } = await context.prefill(someTokens(500))
      results.push({ logits, calls })
      await context.dispose()
    }
    expect(results[1]).toEqual(results[0])
    expect(results[2]).toEqual(results[0])
    await model.dispose()
  })
})
