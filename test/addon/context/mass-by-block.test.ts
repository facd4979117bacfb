// The dense attention mass of chunks whose blocks of queries have a memory set each.

import { expect, test } from 'vitest'
import type { H2oTraceEntry } from '../../../src/ts/index.js'
import { someTokens, tinyContext, tinyModel } from '../../ts/support.js'

const BLOCK = 64
const S = 160 // two blocks, and a half
const N = 3 * S
const N_HEAD = 4
const KV_HEADS = 2
const GROUP = N_HEAD / KV_HEADS

async function traceOf(select: 'votes' | 'query') {
  const context = await tinyContext({
    model: await tinyModel({ kvHeads: KV_HEADS }),
    nBatch: N,
    nUbatch: S,
    h2o: { local: 16, heavy: 16, select, trace: 'mass', denseTail: 0 },
  })
  await context.prefill(someTokens(N), { logits: 'none' })
  const trace = context.takeTrace()
  await context.dispose()
  return trace
}

/** [set][head] */
function massesOf({ mass = new Float32Array(), pos, nChunk, nHeads, nSets }: H2oTraceEntry) {
  const length = pos + nChunk
  expect(mass).toHaveLength(Math.max(nSets, 1) * nHeads * length)
  return Array.from({ length: Math.max(nSets, 1) }, (_, set) =>
    Array.from({ length: nHeads }, (_, head) =>
      mass.subarray((set * nHeads + head) * length, (set * nHeads + head + 1) * length),
    ),
  )
}

const sum = (values: Float32Array) => values.reduce((a, b) => a + b, 0)

test('each head and block has that of its own queries', async () => {
  const trace = await traceOf('query')
  expect(trace.every(({ nHeads }) => nHeads === N_HEAD)).toBe(true)
  expect(trace.map(({ pos, nNear, nSets, nMem }) => [pos, nNear, nSets, nMem]).slice(0, 3)).toEqual([
    [0, 0, 0, 0],
    [S, 16, 3, 16],
    [2 * S, 16, 3, 16],
  ])
  for (const entry of trace) {
    for (const [set, heads] of massesOf(entry).entries()) {
      const queries = entry.nSets === 0 ? S : Math.min(BLOCK, S - set * BLOCK)
      for (const [head, mass] of heads.entries()) {
        expect(sum(mass)).toBeCloseTo(queries, 3)
        if (entry.nSets === 0) continue
        const at = head * S + set * BLOCK
        const end = entry.pos + Math.max(...entry.order.subarray(at, at + queries)) + 1
        expect(mass[end - 1]).toBeGreaterThan(0)
        expect(mass.subarray(end).every((value) => value === 0)).toBe(true)
      }
    }
  }
})

test('the heads of a group and the blocks of a chunk add up to the mass of the chunk', async () => {
  // what the first layer's queries would look at does not depend on what any query was shown
  const [query, votes] = [await traceOf('query'), await traceOf('votes')]
  for (const [i, entry] of query.entries()) {
    if (entry.layer > 0) continue
    const blocks = massesOf(entry)
    for (const [head, whole] of (massesOf(votes[i] as H2oTraceEntry)[0] ?? []).entries()) {
      const parts = blocks.flatMap((heads) => heads.slice(head * GROUP, (head + 1) * GROUP))
      const apart = whole.map((_, j) => parts.reduce((all, part) => all + (part[j] ?? 0), 0))
      expect(Math.max(...whole.map((value, j) => Math.abs(value - (apart[j] ?? 0))))).toBeLessThan(1e-4)
    }
  }
})

async function givesNone(select: 'query' | 'votes') {
  const context = await tinyContext({
    model: await tinyModel({ arch: 'gemma3', layers: 3, slidingPattern: 128 }),
    h2o: { local: 16, heavy: 16, select, trace: 'mass' },
  })
  expect(context.h2o.covered).toBe(false)
  await context.prefill(someTokens(N), { logits: 'none' })
  expect(context.takeTrace()).toEqual([])
  await context.dispose()
}
test('there is none where all layers have windows, query', () => givesNone('query'))
test('there is none where all layers have windows, votes', { tags: ['ways'] }, () => givesNone('votes'))
