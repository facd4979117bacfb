// Models with recurrent layers, with H2O on their attention layers and without: their state has no positions to go back
// to. What was aborted never began; what cannot be forgotten is refused, and nothing changes; what was saved goes on.

import { expect, test, vi } from 'vitest'
import type { Context, H2oOptions } from '../../src/ts/index.js'
import type { Architecture } from '../../src/ts/model-maker/index.js'
import { nmse } from '../reference/method/session.js'
import { modelFile, open, randomTokens } from './support.js'
import { describeWays, selections } from './ways.js'

// an abort at each of many places takes up to 5 s where nothing else runs
vi.setConfig({ testTimeout: 60_000 })

const S = 64
const first = randomTokens(4 * S + 9, 1)
const second = randomTokens(7 * S, 2)
const third = randomTokens(5, 3)

const budget = { local: 16, heavy: 16 }
const hybrids: Architecture[] = ['qwen35', 'lfm2', 'falcon-h1']

const files = new Map<string, Promise<string>>()

async function contextOf(arch: Architecture, h2o: false | H2oOptions, nUbatch = S): Promise<Context> {
  const file = files.get(arch) ?? modelFile({ arch, layers: 4, hidden: 256, ffn: 512 })
  files.set(arch, file)
  return open({ model: await file, nCtx: 1024, nBatch: 8 * S, nUbatch, h2o })
}

const ways = [
  ...hybrids.flatMap((arch) => ([...selections, 'off'] as const).map((select) => ({ arch, select }))),
  { arch: 'mamba', select: 'off' },
] as const

describeWays(ways, '$arch, $select', ({ arch, select }) => {
  const h2o = select !== 'off' && { ...budget, select }
  const path = h2o ? 'h2o' : 'dense'

  test('a call that was aborted never began', async () => {
    const context = await contextOf(arch, h2o)
    await context.decode(first)
    const whole = await context.decode(second)
    expect(whole.call.path).toBe(path)
    const next = await context.decode(third)

    let nInterrupted = 0
    for (let round = 0; round < 6; round++) {
      await context.clear()
      await context.decode(first)
      const abort = new AbortController()
      const call = context.decode(second, { signal: abort.signal })
      const timer = setTimeout(() => abort.abort('enough'), (whole.ms * (round + 0.5)) / 6)
      const end = await call.then(
        () => 'done',
        (reason) => reason,
      )
      clearTimeout(timer)
      if (context.position === first.length) {
        expect(end).toBe('enough')
        nInterrupted++
        expect((await context.decode(second)).logits).toEqual(whole.logits)
      }
      expect(context.position).toBe(first.length + second.length)
      expect((await context.decode(third)).logits).toEqual(next.logits)
    }
    expect(nInterrupted).toBeGreaterThan(1)
  })

  test('a call of one token ends before an abort takes effect', async () => {
    const context = await contextOf(arch, h2o)
    await context.decode(first)
    await context.decode(65)
    const next = await context.decode(third)

    await context.clear()
    await context.decode(first)
    const abort = new AbortController()
    const call = context.decode(65, { signal: abort.signal })
    await new Promise(setImmediate)
    abort.abort('enough')
    await call.catch((reason) => expect(reason).toBe('enough'))
    // if it had not begun
    if (context.position === first.length) await context.decode(65)
    expect((await context.decode(third)).logits).toEqual(next.logits)
  })

  test('a part cannot be forgotten: an error that says so, and nothing changes', async () => {
    const context = await contextOf(arch, h2o)
    await context.decode(first)
    const place = await context.prefill(second, { append: true })
    const n = first.length + second.length
    const next = await context.decode(third)

    await context.clear()
    await context.decode(first)
    await context.prefill(second, { append: true })
    const gone = (work: Promise<unknown>) =>
      expect(work).rejects.toMatchObject({ code: 'ERR_H2O_POSITION_GONE', details: { earliest: n } })
    await gone(context.truncate(n - 1))
    await gone(context.truncate(S))
    await gone(context.removeRange(10, 20))
    await gone(context.prefill(third, { from: S }))
    expect(context.position).toBe(n)
    expect((await context.decode(third)).logits).toEqual(next.logits)

    // all of it can, and so can nothing
    await context.truncate(context.position)
    await context.truncate(0)
    expect(context.position).toBe(0)
    expect(place.position).toBe(n)
  })

  test('what was saved goes on, here and in a context without H2O', async () => {
    const context = await contextOf(arch, h2o)
    await context.decode(first)
    const state = await context.saveState()
    const whole = await context.decode(second)

    expect(await context.loadState(state)).toMatchObject({ position: first.length })
    const again = await context.decode(second)
    expect(again.logits).toEqual(whole.logits)
    expect(again.call).toEqual(whole.call)

    const other = await contextOf(arch, false)
    await other.loadState(state)
    const { logits } = await other.decode(third)
    await context.loadState(state)
    const after = await context.decode(third)
    expect(nmse(after.logits as Float32Array, logits as Float32Array)).toBeLessThanOrEqual(1e-9)
  })
})
