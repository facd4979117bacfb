// What must hold of every sparse call by `votes`, whatever the model: from the trace that the engine keeps on request.

import { describe, expect, test } from 'vitest'
import type { Context, H2oTraceEntry, Schedule } from '../../src/ts/index.js'
import { HotText } from '../reference/method/hot-text.js'
import { checkSelection, heavyOf } from '../reference/method/selection.js'
import { nmse, ReferenceSession } from '../reference/method/session.js'
import { allLogits, hotModel, open, randomTokens } from './support.js'

const S = 32
const L = 8
const H = 16
const K = 8

const budget = {
  nBatch: 16 * S,
  nUbatch: S,
  h2o: { local: L, heavy: H, select: 'votes' as const, trace: true },
}

const schedules = ['single-pass', 'two-pass'] as const

async function tracedRun(schedule: Schedule) {
  const { path } = await hotModel('qwen3', 2)
  const context = await open({ model: path, ...budget, h2o: { ...budget.h2o, schedule } })
  const text = new HotText({ S, H, nChunks: K })
  await context.decode(text.next(K * S - 3))
  return { context, text, trace: context.takeTrace() }
}

/** One head of an entry. */
function head(entry: H2oTraceEntry, i: number) {
  return {
    memory: Array.from(entry.memPos.subarray(i * entry.nMem, (i + 1) * entry.nMem)),
    score: Array.from(entry.memScore.subarray(i * entry.nMem, (i + 1) * entry.nMem)),
    chunk: Array.from(entry.chunkScore.subarray(i * entry.nChunk, (i + 1) * entry.nChunk)),
  }
}

/** The entries of one layer and head in order, each with what the selection of its memory could choose by. */
function chainOf(trace: H2oTraceEntry[], layer: number, i: number) {
  let tracked = new Map<number, number>()
  return trace
    .filter((entry) => entry.layer === layer)
    .map((entry) => {
      const { memory, score, chunk } = head(entry, i)
      const link = { entry, memory, score, chunk, tracked }
      tracked = new Map([
        ...memory.map((p, j) => [p, score[j]] as [number, number]),
        ...chunk.map((x, j) => [entry.pos + j, x] as [number, number]),
      ])
      return link
    })
}

const places = [0, 1].flatMap((layer) => [0, 1].map((i) => ({ layer, i })))

describe.each(schedules)('memory sets and scores, %s', async (schedule) => {
  const { trace, text } = await tracedRun(schedule)

  test.each(places)('layer $layer, KV head $i: right by the scores of the engine itself, ties too', ({
    layer,
    i,
  }) => {
    for (const { entry, memory, tracked } of chainOf(trace, layer, i)) {
      expect(memory).toHaveLength(Math.min(entry.pos, L + H))
      if (entry.pos > 0) expect(checkSelection(memory, tracked, { L, H, p: entry.pos }, 0)).toEqual([])
    }
  })

  test.each(places)('layer $layer, KV head $i: Local is exactly the tail, indices ascend below the chunk', ({
    layer,
    i,
  }) => {
    for (const { entry, memory } of chainOf(trace, layer, i).slice(1)) {
      expect(memory.slice(-L)).toEqual(Array.from({ length: L }, (_, j) => entry.pos - L + j))
      expect(memory.every((p, j) => p < entry.pos && (j === 0 || p > (memory[j - 1] as number)))).toBe(true)
    }
  })

  test.each(places)('layer $layer, KV head $i: scores never decrease', ({ layer, i }) => {
    for (const { memory, score, tracked } of chainOf(trace, layer, i)) {
      for (const [j, p] of memory.entries()) expect(score[j]).toBeGreaterThanOrEqual(tracked.get(p) ?? 0)
    }
  })

  test.each(places)('layer $layer, KV head $i: every query of the group casts one vote per block', ({
    layer,
    i,
  }) => {
    const sum = (values: number[]) => values.reduce((a, b) => a + b, 0)
    for (const { entry, memory, score, chunk, tracked } of chainOf(trace, layer, i)) {
      expect(sum(chunk) / (2 * entry.nChunk)).toBeCloseTo(1, 5)
      if (memory.length === 0) continue
      const before = sum(memory.map((p) => tracked.get(p) ?? 0))
      expect((sum(score) - before) / (2 * entry.nChunk)).toBeCloseTo(1, 4)
    }
  })

  test('heads choose differently', () => {
    const last = trace.filter((entry) => entry.layer === 0).at(-1) as H2oTraceEntry
    expect(head(last, 0).memory).not.toEqual(head(last, 1).memory)
  })

  test('a hot token of chunk 0 survives to the last memory, a late one enters, one hot early only leaves', () => {
    const chain = chainOf(trace, 0, 0)
    const last = chain.at(-1) as (typeof chain)[number]
    const heavy = heavyOf(last.memory, last.entry.pos, L)
    const ofGeneration = (generation: number) =>
      text.hot.filter((hot) => hot.generation === generation && hot.parity === 0).map((hot) => hot.position)

    expect(heavy).toContain(0) // the sink
    expect(heavy.some((p) => ofGeneration(K - 2).includes(p))).toBe(true)

    const second = heavyOf((chain[1] as (typeof chain)[number]).memory, S, L)
    const early = second.filter((p) => ofGeneration(0).includes(p))
    expect(early.length).toBeGreaterThan(0)
    expect(early.some((p) => !heavy.includes(p))).toBe(true)
  })
})

test.each(
  schedules,
)('decoding leaves scores and memory untouched and attends to every position, %s', async (schedule) => {
  const { path, reference: model } = await hotModel('llama', 2)
  const reference = new ReferenceSession(model, { S, L, H, schedule })
  const settings = { model: path, ...budget, h2o: { ...budget.h2o, schedule } }
  const plain = await open(settings)
  const decoded = await open(settings)
  const text = new HotText({ S, H, nChunks: 6 })
  const first = text.next(4 * S)
  const second = text.next(2 * S)

  for (const context of [plain, decoded]) await context.decode(first)
  reference.call(first)

  // decoded and taken back: what is left must be as if nothing had been
  for (const token of randomTokens(64, 3)) {
    const { logits } = await decoded.decode(token)
    expect(nmse(logits as Float32Array, reference.call([token]).logits)).toBeLessThanOrEqual(1e-9)
  }
  await decoded.truncate(4 * S)

  const expected = await allLogits(plain, second)
  expect(await allLogits(decoded, second)).toEqual(expected)
  expect(decoded.takeTrace()).toEqual(plain.takeTrace())
})

test('the result does not depend on the batch: same memory sets, logits within rounding', async () => {
  const { path } = await hotModel('qwen3', 2)
  const prompt = new HotText({ S, H, nChunks: 25 }).next(24 * S + 9)
  const results = []
  for (const chunks of [3, 4, 8]) {
    const context = await open({ model: path, ...budget, nBatch: chunks * S })
    const { logits, calls } = await context.prefill(Int32Array.from(prompt))
    expect(calls.every((call) => call.path === 'h2o')).toBe(true)
    // the last chunk of every cut belongs to its last call
    results.push({
      logits: logits as Float32Array,
      sets: context.takeTrace().filter((e) => e.pos === 24 * S),
    })
  }
  for (const { logits, sets } of results) {
    expect(nmse(logits, (results[0] as (typeof results)[0]).logits)).toBeLessThanOrEqual(1e-10)
    expect(sets.map((e) => e.memPos)).toEqual(results[0]?.sets.map((e) => e.memPos))
  }
})

function compareRuns(settings: (run: number) => { nThreads?: number }, runs: number) {
  return async () => {
    const { path } = await hotModel('llama', 1)
    const prompt = Int32Array.from(new HotText({ S, H, nChunks: 8 }).next(8 * S + 1))
    const results = []
    for (let run = 0; run < runs; run++) {
      const context = await open({ model: path, ...budget, nBatch: 4 * S, ...settings(run) })
      const { logits } = await context.prefill(prompt)
      results.push({ logits, trace: context.takeTrace() })
    }
    for (const result of results)
      expect(result.trace.map((e) => e.memPos)).toEqual(results[0]?.trace.map((e) => e.memPos))
  }
}

test(
  '1 to 8 threads give the same memory sets',
  compareRuns((run) => ({ nThreads: 2 ** run }), 4),
)

test.each(
  schedules,
)('a restored state carries the memory on, and an empty one resets it, %s', async (schedule) => {
  const { path } = await hotModel('llama', 2)
  const text = new HotText({ S, H, nChunks: 6 })
  const first = text.next(4 * S)
  const second = text.next(2 * S)
  const settings = { model: path, ...budget, h2o: { ...budget.h2o, schedule } }
  const a = await open(settings)
  const b = await open(settings)
  const empty = await b.saveState()
  await a.decode(first)
  await b.loadState(await a.saveState())

  const expected = await a.decode(second, { logits: 'all' })
  const restored = await b.decode(second, { logits: 'all' })
  expect(restored.call.inherited).toBe(L + H)
  expect(restored.call).toEqual(expected.call)
  expect(restored.logits).toEqual(expected.logits)

  await b.loadState(empty)
  expect((await b.decode(first)).call).toMatchObject({ pos: 0, inherited: 0, path: 'h2o' })
})

test('a state saved after a rollback below the last chunk comes back as it was', async () => {
  const { path } = await hotModel('llama', 2)
  const text = new HotText({ S, H, nChunks: 8 })
  const a = await open({ model: path, ...budget })
  const b = await open({ model: path, ...budget })
  await a.decode(text.next(5 * S))
  await a.truncate(3 * S + 7)
  await b.loadState(await a.saveState())
  const next = randomTokens(3 * S)
  const expected = await a.decode(next, { logits: 'all' })
  const restored = await b.decode(next, { logits: 'all' })
  expect(restored.call).toEqual(expected.call)
  expect(restored.logits).toEqual(expected.logits)
})

test('a state of another budget keeps the cache and starts without a memory set', async () => {
  const { path } = await hotModel('llama', 2)
  const tokens = new HotText({ S, H, nChunks: 4 }).next(4 * S)
  const next = randomTokens(2 * S)
  for (const h2o of [{ local: L, heavy: H + 1, select: 'votes' }, false] as const) {
    const a = await open({ model: path, ...budget, h2o })
    const b = await open({ model: path, ...budget })
    await a.decode(tokens)
    await b.loadState(await a.saveState())
    expect(b.position).toBe(4 * S)
    expect((await b.decode(next)).call).toMatchObject({ path: 'h2o', pos: 4 * S, inherited: 0 })
  }
})

test('a damaged state is refused and leaves an empty context', async () => {
  const { path } = await hotModel('llama', 2)
  const context: Context = await open({ model: path, ...budget })
  await context.decode(randomTokens(3 * S))
  const state = await context.saveState()
  const at = Buffer.from(state).lastIndexOf('H2O1')
  new DataView(state.buffer, state.byteOffset).setInt32(at + 4 * 4 + 4 * 4 + 4 + 8, 1 << 30, true)
  await expect(context.loadState(state)).rejects.toMatchObject({ code: 'ERR_H2O_STATE_INVALID' })
})
