/** A prompt whose beginning is in the context reads the rest, and gives the bits that reading all of it gives. */

import { describe, expect, it } from 'vitest'
import type { ContextOptions } from '../../../src/ts/index.js'
import { someTokens, tinyContext, tinyModel } from '../support.js'

const S = 64
const longest = someTokens(900)
/** The first `same` tokens of the longest prompt, then others. */
const branch = (same: number, length: number) => {
  const prompt = someTokens(length, 5)
  prompt.set(longest.subarray(0, same))
  return prompt
}
const query = { local: 16, heavy: 16, select: 'query', denseTail: 0 } as const

type Row = [string, Pick<ContextOptions, 'h2o'>, (same: number, length: number, read: number) => number]

const rows: Row[] = [
  // nBatch, what is cached of `same` equal tokens of a prompt of `length` behind one of `read`
  ['query', { h2o: query }, (same, length, read) => floor(Math.min(same, read, length - S - 1), S)],
  [
    'query, dense tail',
    { h2o: { ...query, denseTail: 40 } },
    (same, length, read) => floor(Math.min(same, read - 40, length - 40 - S - 1), S),
  ],
  ['dense', { h2o: false }, (same, length, read) => floor(Math.min(same, read, length - 1), 192)],
]

function hasTheBitsOfAll(...[, settings, expected]: Row) {
  it.each([
    [900, 900, 900],
    [640, 900, 640],
    [639, 700, 900],
    [300, 500, 900],
    [128, 193, 900],
    [100, 130, 700],
    [20, 60, 900],
    [0, 400, 900],
  ])('%i equal tokens of %i, behind %i', async (same, length, read) => {
    const prompt = branch(same, length)
    await using fresh = await tinyContext(settings)
    const alone = await fresh.prefill(prompt)
    await using context = await tinyContext(settings)
    await context.prefill(longest.subarray(0, read))
    const result = await context.prefill(prompt)
    const common = prompt.findIndex((token, i) => token !== longest[i])
    expect(result.cached).toBe(expected(common < 0 ? length : common, length, read))
    expect(result.cached + result.tokens).toBe(length)
    expect(result.position).toBe(length)
    expect(result.logits).toEqual(alone.logits)
    // and what follows
    const after = someTokens(30, 8)
    expect((await context.decode(after)).logits).toEqual((await fresh.decode(after)).logits)
  })
}
describe.each(rows)('%s', hasTheBitsOfAll)
describe.each<Row>([['votes', { h2o: { local: 16, heavy: 16, select: 'votes' } }, () => 0]])(
  '%s',
  { tags: ['ways'] },
  hasTheBitsOfAll,
)

describe('with query', () => {
  const settings = { h2o: query }

  it('is off where it is not wanted, and for all logits', async () => {
    await using context = await tinyContext(settings)
    await context.prefill(longest)
    expect(await context.prefill(longest, { reuse: false })).toMatchObject({ cached: 0, tokens: 900 })
    expect(await context.prefill(longest, { logits: 'all' })).toMatchObject({ cached: 0, tokens: 900 })
    expect((await context.prefill(longest)).cached).toBe(832)
  })

  it('does not take for read what a cut, a hole or a dense call has left', async () => {
    await using context = await tinyContext(settings)
    await context.prefill(longest.subarray(0, 700))
    await context.truncate(300)
    expect((await context.prefill(longest)).cached).toBe(256)
    await context.removeRange(200, 210)
    expect((await context.prefill(longest)).cached).toBe(192)
    await context.clear()
    for (let i = 0; i < 640; i += S) await context.decode(longest.subarray(i, i + S)) // dense: one chunk
    expect((await context.prefill(longest)).cached).toBe(0)
  })

  it('takes for read what a state holds, in a context of the same settings', async () => {
    await using context = await tinyContext(settings)
    const { logits } = await context.prefill(longest)
    const state = await context.saveState()
    await using same = await tinyContext(settings)
    await same.loadState(state)
    const again = await same.prefill(longest)
    expect(again.cached).toBe(832)
    expect(again.logits).toEqual(logits)
    for (const others of [{ h2o: { ...settings.h2o, heavy: 15 } }, { upstreamProducts: true }]) {
      await using other = await tinyContext({ ...settings, ...others })
      await other.loadState(state)
      expect((await other.prefill(longest)).cached).toBe(0)
    }
  })

  it('survives an abort with whole calls', async () => {
    await using context = await tinyContext(settings)
    await using fresh = await tinyContext(settings)
    const controller = new AbortController()
    const onProgress = ({ done }: { done: number }) => done >= 300 && controller.abort()
    await expect(context.prefill(longest, { signal: controller.signal, onProgress })).rejects.toThrow()
    const kept = context.position
    const result = await context.prefill(longest)
    expect(result.cached).toBe(floor(kept, S))
    expect(result.logits).toEqual((await fresh.prefill(longest)).logits)
  })
})

describe('a dense tail behind whole chunks', () => {
  const settings = { h2o: query }
  const document = longest.subarray(0, 10 * S)
  const asked = (seed: number) => Int32Array.from([...document, ...someTokens(30, seed)])

  it('leaves the question alone to be read', async () => {
    await using fresh = await tinyContext(settings)
    await using context = await tinyContext(settings)
    expect(context.reusable(asked(2), 30)).toBe(0)
    const first = await context.prefill(asked(2), { denseTail: 30 })
    expect(first).toMatchObject({ cached: 0, path: 'h2o', chunks: 10, denseTail: 30 })
    expect(context.reusable(asked(3), 30)).toBe(10 * S)
    const next = await context.prefill(asked(3), { denseTail: 30 })
    expect(next).toMatchObject({ cached: 10 * S, tokens: 30, path: 'dense' })
    expect(next.logits).toEqual((await fresh.prefill(asked(3), { denseTail: 30 })).logits)
    // without a tail of its own the rest has to hold more than a chunk
    expect(context.reusable(document)).toBe(8 * S)
    expect(context.reusable(asked(3))).toBe(9 * S)
  })

  it('reads a prompt densely as a whole, whatever is there', async () => {
    await using fresh = await tinyContext(settings)
    await using context = await tinyContext(settings)
    await context.prefill(longest)
    const dense = await context.prefill(longest, { denseTail: longest.length })
    expect(dense).toMatchObject({ cached: 0, path: 'dense' })
    expect(dense.logits).toEqual((await fresh.prefill(longest, { denseTail: longest.length })).logits)
    expect((await context.prefill(longest)).cached).toBe(0) // dense calls are not what a sparse prompt would leave
  })
})

describe('calls of two chunks', () => {
  it.each([600, 640, 641, 704, 768])('%i tokens: whole calls, as their cut leaves dense rests', async (n) => {
    const settings = { h2o: query, nBatch: 2 * S }
    await using fresh = await tinyContext(settings)
    await using context = await tinyContext(settings)
    await context.prefill(longest)
    const result = await context.prefill(longest.subarray(0, n))
    expect(result.cached).toBe(floor(n - 1, 2 * S))
    expect(result.logits).toEqual((await fresh.prefill(longest.subarray(0, n))).logits)
  })
})

describe.each(['gemma3', 'jamba'] as const)('a memory that cannot always go back: %s', (arch) => {
  it.each([
    [900, 700, { gemma3: 640, jamba: 0 }], // the windows reach that far back
    [640, 640, { gemma3: 640, jamba: 640 }],
    [300, 900, { gemma3: 0, jamba: 0 }],
  ])('%i equal tokens behind %i', async (same, read, cached) => {
    const model = await tinyModel({ arch, layers: 8, ...(arch === 'gemma3' && { slidingWindow: 32 }) })
    const settings = { model, h2o: query, typeK: 'f32', typeV: 'f32' } as const
    const prompt = branch(same, 900)
    await using fresh = await tinyContext(settings)
    await using context = await tinyContext(settings)
    expect(context.h2o.covered).toBe(true)
    await context.prefill(longest.subarray(0, read))
    const result = await context.prefill(prompt)
    expect(result.cached + result.tokens).toBe(900)
    expect(result.cached).toBe(cached[arch])
    expect(result.logits).toEqual((await fresh.prefill(prompt)).logits)
  })
})

function floor(n: number, unit: number): number {
  return Math.max(0, Math.floor(n / unit) * unit)
}
