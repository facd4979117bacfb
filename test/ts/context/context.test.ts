import { describe, expect, it } from 'vitest'
import { gpuWarnings } from '../../../src/ts/context.js'
import { type PrefillProgress, planPrefill } from '../../../src/ts/index.js'
import { bool } from '../../../src/ts/model-maker/index.js'
import { collect, someTokens, tinyContext, tinyModel } from '../support.js'

/** Without rounding between calls of different sizes, so that they can be compared. */
const exact = { typeK: 'f32', typeV: 'f32', flashAttn: 'off' } as const

describe('prefill', () => {
  it('reports what it did', async () => {
    await using context = await tinyContext({ h2o: false })
    const tokens = someTokens(500)
    const result = await context.prefill(tokens)
    expect(result).toMatchObject({
      tokens: 500,
      cached: 0,
      path: 'dense',
      reason: 'off',
      schedule: 'single-pass',
      chunks: 0,
      denseTail: 0,
    })
    expect(result.calls.map(({ n, pos }) => [n, pos])).toEqual([
      [192, 0],
      [192, 192],
      [116, 384],
    ])
    expect(result.logits).toHaveLength(context.model.nVocab)
    expect(result.timings.promptMs).toBeGreaterThan(0)
    expect(result.timings.promptPerSecond).toBeGreaterThan(0)
    expect(context.position).toBe(500)
  })

  it('cuts the prompt as planPrefill says', async () => {
    await using context = await tinyContext()
    const sizes = async (denseTail?: number) => {
      const tail = denseTail === undefined ? {} : { denseTail }
      const { calls } = await context.prefill(someTokens(400), { ...tail, reuse: false })
      return calls.map(({ n }) => n)
    }
    expect(context.h2o).toMatchObject({ covered: true, select: 'query', denseTail: 64 })
    expect(await sizes(0)).toEqual(planPrefill(400, 192, 64, true))
    expect(await sizes()).toEqual(planPrefill(400, 192, 64, true, 64))
    // a text is asked later
    const { read } = await context.read(someTokens(401))
    expect(read).toMatchObject({ path: 'h2o', denseTail: 0 })
  })

  it('is the same for a text and its tokens, and every time', async () => {
    await using context = await tinyContext()
    const text = 'It was the best of times, it was the worst of times. '.repeat(6)
    const first = await context.prefill(text)
    const second = await context.prefill(text, { reuse: false })
    const third = await context.prefill(context.model.tokenize(text), { reuse: false })
    const fourth = await context.prefill(Array.from(context.model.tokenize(text)), { reuse: false })
    for (const other of [second, third, fourth]) {
      expect(other.logits).toEqual(first.logits)
      expect(other.calls).toEqual(first.calls)
      expect(other.cached).toBe(0)
    }
    expect(context.position).toBe(text.length)
  })

  it('returns the logits that were asked for', async () => {
    await using context = await tinyContext({ ...exact, h2o: false })
    const { nVocab } = context.model
    const tokens = someTokens(300)
    const last = await context.prefill(tokens)
    const all = await context.prefill(tokens, { logits: 'all' })
    const none = await context.prefill(tokens, { logits: 'none' })
    expect(none.logits).toBeNull()
    expect(all.logits).toHaveLength(300 * nVocab)
    const tail = all.logits?.subarray(299 * nVocab) as Float32Array
    expect(distance(tail, last.logits as Float32Array)).toBeLessThan(1e-4)
    // every row was written
    for (let i = 0; i < 300; i++) {
      expect(all.logits?.subarray(i * nVocab, (i + 1) * nVocab).some((value) => value !== 0)).toBe(true)
    }
    // and its own: a prompt that ends there has the same
    const { logits } = await context.prefill(tokens.subarray(0, 40))
    expect(
      distance(all.logits?.subarray(39 * nVocab, 40 * nVocab) as Float32Array, logits as Float32Array),
    ).toBeLessThan(1e-4)
  })

  it('appends when told to', async () => {
    await using context = await tinyContext({ h2o: false })
    const tokens = someTokens(384)
    const whole = await context.prefill(tokens)
    await context.prefill(tokens.subarray(0, 192))
    const rest = await context.prefill(tokens.subarray(192), { append: true })
    expect(rest).toMatchObject({ tokens: 192, cached: 192 })
    expect(rest.logits).toEqual(whole.logits)
    expect(context.position).toBe(384)
  })

  it('adds BOS at the start only', async () => {
    const model = await tinyModel({ addBos: true })
    await using context = await tinyContext({ model })
    expect((await context.prefill('abc')).tokens).toBe(4)
    expect((await context.prefill('abc', { append: true })).tokens).toBe(3)
    expect((await context.prefill('abc', { append: true, addSpecial: true })).tokens).toBe(4)
    expect((await context.prefill('abc', { addSpecial: false })).tokens).toBe(3)
    await context.clear()
    expect((await context.prefill('abc', { append: true })).tokens).toBe(4)
    expect((await context.prefill('<|endoftext|>', { parseSpecial: true })).tokens).toBe(2)
  })

  it('reports progress after every call, and within one', async () => {
    await using context = await tinyContext({ h2o: false })
    const seen: PrefillProgress[] = []
    await context.prefill(someTokens(500), { onProgress: (progress) => seen.push(progress) })
    const ended = seen.filter(({ call }) => call)
    expect(ended.map(({ done, total }) => [done, total])).toEqual([
      [192, 500],
      [384, 500],
      [500, 500],
    ])
    expect(seen.map(({ done }) => done)).toEqual([...seen.map(({ done }) => done)].sort((a, b) => a - b))
  })

  it('reports progress within one long call', async () => {
    const model = await tinyModel({ hidden: 256, layers: 4, ffn: 1024 })
    await using context = await tinyContext({ model, nCtx: 4096, nBatch: 4096, nUbatch: 512, h2o: false })
    const seen: PrefillProgress[] = []
    const { calls } = await context.prefill(someTokens(4000), { onProgress: (p) => seen.push(p) })
    expect(calls).toHaveLength(1)
    const within = seen.filter(({ call }) => !call)
    expect(within.length).toBeGreaterThan(1)
    for (const { done } of within) {
      expect(done).toBeGreaterThan(0)
      expect(done).toBeLessThan(4000)
    }
  })

  it('ends with what the progress listener throws', async () => {
    await using context = await tinyContext()
    const boom = new Error('boom')
    const failing = context.prefill(someTokens(500), {
      onProgress: () => {
        throw boom
      },
    })
    await expect(failing).rejects.toBe(boom)
    expect(context.position).toBe(planPrefill(500, 192, 64, context.h2o.covered)[0])
    expect((await context.prefill('again')).tokens).toBe(5)
  })
})

describe('decode', () => {
  it('is one call, appended', async () => {
    await using context = await tinyContext({ ...exact, h2o: false })
    const tokens = someTokens(100)
    const whole = await context.prefill(tokens)
    await context.prefill(tokens.subarray(0, 98), { logits: 'none' })
    const one = await context.decode(tokens[98] as number)
    expect(one.call).toMatchObject({ n: 1, pos: 98, path: 'dense' })
    expect(one.ms).toBeGreaterThan(0)
    const two = await context.decode([tokens[99] as number], { logits: 'all' })
    expect(two.logits).toHaveLength(context.model.nVocab)
    expect(distance(two.logits as Float32Array, whole.logits as Float32Array)).toBeLessThan(1e-3)
    expect((await context.decode(tokens.subarray(0, 192), { logits: 'none' })).logits).toBeNull()
    expect(context.position).toBe(200)
  })

  it('starts from an empty context too', async () => {
    await using context = await tinyContext({ h2o: false })
    const tokens = someTokens(50)
    const { logits } = await context.decode(tokens)
    expect((await context.prefill(tokens)).logits).toEqual(logits)
  })
})

describe('memory', () => {
  it('reads the ids that it was given, whatever becomes of the list', async () => {
    await using context = await tinyContext()
    const ids = someTokens(300)
    const { logits: expected } = await context.prefill(ids)
    const own = ids.slice()
    const prefill = context.prefill(own)
    own.fill(7)
    expect((await prefill).logits).toEqual(expected)
  })

  it('reads the ids and options that generate() was given when it was called', async () => {
    await using context = await tinyContext()
    const options = { temperature: 0, ignoreEos: true, nPredict: 6 }
    const { tokens } = await collect(context.generate(someTokens(300), options))
    const own = someTokens(300)
    const ownOptions = { ...options, from: 0 }
    const generation = context.generate(own, ownOptions)
    own.fill(7)
    Object.assign(ownOptions, { from: 9, nPredict: 1, seed: 'none' })
    expect((await collect(generation)).tokens).toEqual(tokens)
  })

  it('truncates, and goes on as if the rest had never been', async () => {
    await using context = await tinyContext({ ...exact, h2o: false })
    const tokens = someTokens(150)
    const short = await context.prefill(tokens.subarray(0, 60))
    await context.prefill(tokens)
    await context.truncate(59)
    expect(context.position).toBe(59)
    const { logits } = await context.decode(tokens[59] as number)
    expect(distance(logits as Float32Array, short.logits as Float32Array)).toBeLessThan(1e-3)
    await context.truncate(60)
    expect(context.position).toBe(60)
    await context.truncate(0)
    expect(context.position).toBe(0)
  })

  it('removes a range and keeps positions', async () => {
    await using context = await tinyContext()
    await context.prefill(someTokens(150))
    await context.removeRange(20, 40)
    await context.removeRange(5, 5)
    expect(context.position).toBe(150)
    const { call } = await context.decode(65)
    expect(call).toMatchObject({ pos: 150, path: 'dense' })
    await context.removeRange(100, 151)
    expect(context.position).toBe(100)
  })

  it('clears', async () => {
    await using context = await tinyContext()
    await context.clear()
    const tokens = someTokens(150)
    const { logits } = await context.prefill(tokens)
    await context.clear()
    expect(context.position).toBe(0)
    expect((await context.prefill(tokens, { append: true })).logits).toEqual(logits)
  })

  it('of a recurrent model is cleared or kept whole', async () => {
    await using context = await tinyContext({ model: await tinyModel({ arch: 'mamba' }) })
    expect(context.h2o).toMatchObject({ covered: false })
    const { logits } = await context.prefill(someTokens(100))
    await expect(context.truncate(50)).rejects.toMatchObject({ code: 'ERR_H2O_POSITION_GONE' })
    expect(context.position).toBe(100)
    expect((await context.prefill(someTokens(100))).logits).toEqual(logits)
    await context.truncate(0)
    expect(context.position).toBe(0)
  })
})

describe('a context that H2O does not serve', () => {
  it('outputs every token when it outputs embeddings', async () => {
    await using context = await tinyContext({ embeddings: true })
    expect(context.h2o.covered).toBe(false)
    const { logits } = await context.prefill(someTokens(400))
    expect((await context.prefill(someTokens(400), { logits: 'all' })).logits?.slice(-258)).toEqual(logits)
  })

  it('takes one physical batch at a time without a causal mask', async () => {
    const metadata = { 'llama.attention.causal': bool(false) }
    await using context = await tinyContext({ model: await tinyModel({ metadata }) })
    const { calls } = await context.prefill(someTokens(150))
    expect(calls.map(({ n, path }) => [n, path])).toEqual([
      [64, 'dense'],
      [64, 'dense'],
      [22, 'dense'],
    ])
    await expect(context.decode(someTokens(65))).rejects.toMatchObject({ code: 'ERR_H2O_BATCH_TOO_LARGE' })
  })
})

describe('h2o', () => {
  it('says how the layers attend, and what a prefill costs', async () => {
    await using context = await tinyContext()
    expect(context.h2o.layers).toEqual(['sparse', 'sparse'])
    const [hidden, ffn, heads, kvHeads, size] = [64, 128, 4, 2, 16]
    const projections = 2 * hidden * size * (2 * heads + 2 * kvHeads)
    // the last layer's FFN and the output are for tokens whose logits are asked for
    const linear = 2 * projections + 6 * hidden * ffn
    expect(context.h2o.cost).toMatchObject({ pair: 2 * heads * 4 * size, windowPair: 0 })
    expect(context.h2o.cost.linear).toBeGreaterThan(linear)
    expect(context.h2o.cost.linear).toBeLessThan(1.02 * linear)

    await using dense = await tinyContext({ h2o: false })
    expect(dense.h2o.layers).toEqual(['dense', 'dense'])
    expect(dense.h2o.cost).toMatchObject({ linear: 0, pair: 0, windowPair: 0 })
  })
})

describe('takeTrace', () => {
  it('gives what the last sparse call recorded, once', async () => {
    await using context = await tinyContext({ h2o: { local: 16, heavy: 16, select: 'votes', trace: true } })
    expect(context.h2o.covered).toBe(true)
    expect(context.takeTrace()).toEqual([])
    const { calls } = await context.prefill(someTokens(400))
    const last = calls.at(-1)
    const entries = context.takeTrace()
    expect(context.takeTrace()).toEqual([])
    expect(entries).toHaveLength(context.model.nLayer * (last?.chunks ?? 0))
    for (const { nMem, nHeads, nChunk, memPos, memScore, chunkScore } of entries) {
      expect(memPos).toHaveLength(nMem * nHeads)
      expect(memScore).toHaveLength(nMem * nHeads)
      expect(chunkScore).toHaveLength(nChunk * nHeads)
    }
    expect(entries[0]).toMatchObject({ layer: 0, pos: last?.pos, nMem: 32, nHeads: 2 })
  })

  it('is empty unless it was asked for', async () => {
    await using context = await tinyContext()
    await context.prefill(someTokens(400))
    expect(context.takeTrace()).toEqual([])
  })
})

function distance(a: Float32Array, b: Float32Array): number {
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - (b[i] as number))), 0)
}

it('warns where sets grow on a GPU', () => {
  const info = { reason: null, heavyGrows: true, onGpu: true }
  expect(gpuWarnings(info)).toMatchObject([{ code: 'H2O_WARN_HEAVY_ON_GPU' }])
  for (const other of [{ onGpu: false }, { heavyGrows: false }, { reason: 'off' }]) {
    expect(gpuWarnings({ ...info, ...other })).toEqual([])
  }
})
