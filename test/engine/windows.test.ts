// Models with sliding windows: H2O serves the layers without one, stock the others.
// What their memory adds to the life of a context: windows forget, so going back, aborting, saving and cutting a prompt
// into calls are not what they are elsewhere.

import { expect, test, vi } from 'vitest'
import type { Context, ContextOptions } from '../../src/ts/index.js'
import type { ModelSpec } from '../../src/ts/model-maker/index.js'
import { nmse } from '../reference/method/session.js'
import { allLogits, modelFile, open, randomTokens } from './support.js'
import { describeWays, selections } from './ways.js'

// an abort at each of many places takes up to 7 s where nothing else runs
vi.setConfig({ testTimeout: 60_000 })

const WINDOW = 32
const S = 64
const N = 5 * S + 9
// the window cache holds a window and S tokens, in steps of 256: this long, the first positions are gone
const LONG = 10 * S + 9

const models: Record<string, ModelSpec> = {
  'gemma3-like': { arch: 'gemma3', layers: 6, slidingWindow: WINDOW },
  'gemma2-like (capped logits)': { arch: 'gemma2', slidingWindow: WINDOW, attentionGain: 20 },
  'gpt-oss-like (sinks)': { arch: 'gpt-oss', slidingWindow: WINDOW },
  'gemma4-like (shared keys and values)': {
    ...{
      arch: 'gemma4',
      layers: 6,
      sharedKvLayers: 2,
      slidingWindow: WINDOW,
      headDim: 64,
      windowHeadDim: 32,
    },
  },
}

const ways = Object.keys(models).flatMap((name) => selections.map((select) => ({ name, select })))

type Options = Partial<ContextOptions> & { select?: 'votes' | 'query'; heavy?: number }

/** A context whose calls hold several windows. */
async function openOne(name: string, options: Options = {}) {
  const { select, heavy = 24, ...rest } = options
  const model = await modelFile(models[name] as ModelSpec)
  const h2o = { local: 16, heavy, select, denseTail: 0 }
  return open({ model, nBatch: 4 * S, nUbatch: S, h2o, ...rest })
}

const lastLogits = async (context: Context, tokens: number[]) =>
  (await context.prefill(tokens, { append: true })).logits as Float32Array

describeWays(ways, '$name, $select', ({ name, select }) => {
  // Cells in another order are sums in another order, which may change a set of `query` near a tie: not one of all positions.
  const ofAll = { select, heavy: select === 'query' ? 2 * LONG : 24 }

  test('whole windows or not, the logits are the same', async () => {
    const results = []
    for (const swaFull of [false, true]) {
      const context = await openOne(name, { ...ofAll, swaFull })
      const { path, logits } = await context.prefill(randomTokens(LONG))
      expect(path).toBe('h2o')
      results.push(logits as Float32Array)
    }
    expect(nmse(results[0] as Float32Array, results[1] as Float32Array)).toBeLessThan(1e-7)
  })

  test('a second prompt gives the bits of the first', async () => {
    const context = await openOne(name, { select })
    const first = await context.prefill(randomTokens(N))
    await context.clear()
    const second = await context.prefill(randomTokens(N))
    expect(second).toMatchObject({ path: 'h2o', calls: first.calls })
    expect(second.logits).toEqual(first.logits)
  })

  test('turns go on behind each other, sparse and dense, after saving and restoring too', async () => {
    const context = await openOne(name, { select })
    const turns = [randomTokens(N, 1), randomTokens(40, 2), randomTokens(3 * S + 1, 3), randomTokens(1, 4)]
    const run = async (at: Context, from: number) => {
      const results = []
      for (const turn of turns.slice(from)) results.push(await at.prefill(turn, { append: true }))
      return results.map(({ calls, logits }) => ({ calls, logits }))
    }
    const all = await run(context, 0)
    expect(all.map(({ calls }) => calls.at(-1)?.path)).toEqual(['h2o', 'dense', 'h2o', 'dense'])
    expect(all[2]?.calls[0]?.inherited).toBe(40)

    const fresh = await openOne(name, { select })
    await fresh.prefill(turns[0] as number[])
    const state = await fresh.saveState()
    const other = await openOne(name, { select })
    expect(await other.loadState(state)).toMatchObject({ position: N, inherited: true })
    const restored = await run(other, 1)
    for (const [i, { calls, logits }] of restored.entries()) {
      expect(calls).toEqual(all[i + 1]?.calls)
      // Another order of sums adds a key to a set, or takes it from there, near a tie of 8 bits; its page is then estimated without
      // it, or with it, and the choices of later layers move. By an F32 search 1e-6 holds.
      const bound = select === 'query' ? 1e-3 : 1e-7
      expect(nmse(logits as Float32Array, all[i + 1]?.logits as Float32Array)).toBeLessThan(bound)
    }
  })

  test('goes back as far as its windows reach, and says where they do not', async () => {
    const context = await openOne(name, ofAll)
    await context.prefill(randomTokens(LONG))
    const error = await context.truncate(S).catch((e) => e)
    expect(error).toMatchObject({ code: 'ERR_H2O_POSITION_GONE', details: { from: S, position: LONG } })
    expect(context.position).toBe(LONG)
    await expect(context.prefill('abc', { from: S })).rejects.toMatchObject({
      code: 'ERR_H2O_POSITION_GONE',
    })

    const { earliest } = error.details as { earliest: number }
    expect(earliest).toBeGreaterThan(S)
    expect(earliest).toBeLessThan(LONG - S)
    await context.truncate(earliest)
    expect(context.position).toBe(earliest)

    // what is left is what a context with all positions has left
    const whole = await openOne(name, { ...ofAll, swaFull: true })
    await whole.prefill(randomTokens(LONG))
    await whole.truncate(earliest)
    const more = randomTokens(2 * S + 3, 5)
    expect(nmse(await lastLogits(context, more), await lastLogits(whole, more))).toBeLessThan(1e-7)

    await context.clear()
    expect(context.position).toBe(0)
  })

  test('an aborted call keeps its chunks that ended, and goes on from there', async () => {
    const tokens = randomTokens(40 * S + 9)
    const settings = { select, nBatch: 48 * S }
    const whole = await (await openOne(name, settings)).prefill(tokens)

    const stops = new Set<number>()
    for (const share of [0.1, 0.25, 0.4, 0.55, 0.7]) {
      const context = await openOne(name, settings)
      const abort = new AbortController()
      const prefill = context.prefill(tokens, { signal: abort.signal }).catch((reason) => reason)
      setTimeout(() => abort.abort('enough'), share * whole.timings.promptMs)
      await prefill
      const left = tokens.length - context.position
      if (left <= S) continue // too late to abort; and so few tokens would be a dense call
      expect(context.position % S).toBe(0)
      stops.add(context.position)
      const rest = await lastLogits(context, tokens.slice(context.position))
      expect(nmse(rest, whole.logits as Float32Array)).toBeLessThan(1e-7)
    }
    expect(Math.max(...stops)).toBeGreaterThan(0)
  })
})

test('windows without H2O go back and abort by the same rules', async () => {
  const context = await openOne('gemma3-like', { h2o: false, nBatch: 16 * S })
  await context.prefill(randomTokens(LONG))
  await expect(context.truncate(S)).rejects.toMatchObject({ code: 'ERR_H2O_POSITION_GONE' })
  const all = await allLogits(await openOne('gemma3-like', { h2o: false, nBatch: 16 * S }), randomTokens(S))
  await context.clear()
  expect(await allLogits(context, randomTokens(S))).toEqual(all)
})
