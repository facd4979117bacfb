// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The two-pass schedule against what must hold of it whatever the model, and against its definition said otherwise.

import { expect, test } from 'vitest'
import { type Architecture, makeModel } from '../../../src/ts/model-maker/index.js'
import { type Attention, logitsOver, range, valuesAt, weightedSum } from '../model/attention.js'
import { referenceOf } from '../model/from-gguf.js'
import { KvCache } from '../model/kv-cache.js'
import { softmax } from '../model/ops.js'
import { forward } from '../model/transformer.js'
import type { ChunkTrace, SparseCall } from './h2o.js'
import { nmse, ReferenceSession, type Schedule } from './session.js'
import { emptyState } from './state.js'
import { twoPass } from './two-pass.js'

const tiny = (arch: Architecture = 'llama', kvHeads = 2, layers = 2) =>
  referenceOf(makeModel({ arch, layers, hidden: 64, heads: 4, kvHeads, headDim: 16, attentionGain: 3 }))
const text = (n: number, seed = 1) => range(0, n).map((i) => (i * i * 7 + i * 13 * seed + seed) % 256)

const [S, L, H] = [16, 3, 6]
const inBoth = <T>(run: (schedule: Schedule) => T): [T, T] => [run('single-pass'), run('two-pass')]

/** One sparse call from an empty context, with the cache that it leaves. */
function oneCall(model: ReturnType<typeof tiny>, tokens: number[]) {
  const cache = new KvCache(model.hparams.nLayer)
  const call: SparseCall = {
    S,
    L,
    H,
    state: emptyState(model.hparams),
    trace: [],
  }
  return { logits: twoPass(model, tokens, cache, call), trace: call.trace, cache }
}

/** Dense, sparse, decode, sparse, rollback, sparse. */
function someCalls(session: ReferenceSession) {
  const calls = [text(5), text(3 * S + 2), [7], text(2 * S, 2)].map((tokens) => session.call(tokens))
  session.rollback(70)
  return [...calls, session.call(text(2 * S + 5, 3))]
}

test.each([
  ['llama', 4],
  ['qwen2', 2],
  ['qwen3', 1],
] as const)('%s, %d KV heads: layer 0 has the sets and scores of single-pass', (arch, kvHeads) => {
  const layer0 = (schedule: Schedule): ChunkTrace[] =>
    someCalls(new ReferenceSession(tiny(arch, kvHeads), { S, L, H, schedule })).flatMap(({ trace }) =>
      trace.filter(({ layer }) => layer === 0),
    )
  const [single, two] = inBoth(layer0)
  expect(two).toHaveLength(4 + 2 + 3)
  expect(two).toEqual(single)
})

test.each(['llama', 'qwen2', 'qwen3'] as const)('%s: with one layer the schedules are the same', (arch) => {
  const calls = (schedule: Schedule) =>
    someCalls(new ReferenceSession(tiny(arch, 2, 1), { S, L, H, schedule })).flatMap(({ logits }) => [
      ...logits,
    ])
  const [single, two] = inBoth(calls)
  expect(nmse(two, single)).toBeLessThan(1e-28)
})

test('with two layers they are not; chunk 0 is the same, and what is not sparse', () => {
  const [single, two] = inBoth((schedule) => {
    const session = new ReferenceSession(tiny(), { S, L, H, schedule })
    return [text(2 * S), [3], text(S)].map((tokens) => session.call(tokens))
  })
  const nVocab = two[1]!.logits.length
  const chunk0 = two[0]!.logits.slice(0, S * nVocab)
  expect(chunk0).toEqual(new ReferenceSession(tiny(), { S: 0, L: 0, H: 0 }).call(text(S)).logits)
  expect(nmse(chunk0, single[0]!.logits.slice(0, S * nVocab))).toBeLessThan(1e-28)
  expect(nmse(two[0]!.logits.slice(S * nVocab), single[0]!.logits.slice(S * nVocab))).toBeGreaterThan(1e-6)
  // decode reads what phase 1 wrote
  expect(nmse(two[1]!.logits, single[1]!.logits)).toBeGreaterThan(1e-6)

  expect(two.map(({ path, chunks }) => [path, chunks])).toEqual([
    ['h2o', 2],
    ['dense', 0],
    ['dense', 0],
  ])
  const [a, b] = inBoth((schedule) => new ReferenceSession(tiny(), { S, L, H, schedule }).call(text(S)))
  expect(b).toEqual(a)
})

// RoPE is relative up to the rounding of its float32 angles, so a chunk alone may as well stand at position 0
test.each([
  'llama',
  'qwen3',
] as const)('%s: values and initial scores are those of the chunk alone', (arch) => {
  const model = tiny(arch)
  const tokens = text(3 * S + 5)
  const { cache, trace } = oneCall(model, tokens)
  expect([...cache.keys, ...cache.values].map((rows) => rows.length)).toEqual([53, 53, 53, 53])

  for (const { layer, pos, n, heads } of trace) {
    const own = tokens.slice(pos, pos + n)
    const alone = oneCall(model, [...own, ...text(S + 1 - n), 0]) // what follows a token does not reach it
    const rows = (values: Float64Array[][], from: number) =>
      values[layer]!.slice(from, from + n).flatMap((row) => [...row])
    expect(nmse(rows(cache.values, pos), rows(alone.cache.values, 0))).toBeLessThan(1e-9)
    if (n < S) continue // a longer chunk has more votes
    const chunk0 = alone.trace.find((t) => t.layer === layer)!
    for (const [i, { chunkScore }] of heads.entries()) {
      expect(nmse(chunkScore, chunk0.heads[i]!.chunkScore)).toBeLessThan(1e-9)
    }
  }
})

// Merging two states is one softmax over the logits that two different queries gave. Said that way there is no state
// to keep: phase 1's queries are kept instead.
test.each([
  ['llama', 2],
  ['qwen2', 4],
  ['qwen3', 1],
] as const)('%s, %d KV heads: equals one softmax over the logits of both queries', (arch, kvHeads) => {
  const model = tiny(arch, kvHeads, 3)
  const h = model.hparams
  const tokens = text(3 * S + 5)
  const { logits, trace } = oneCall(model, tokens)

  const cache = new KvCache(h.nLayer)
  const phase1: Float64Array[] = []
  const attend =
    (mixed: boolean): Attention =>
    (layer, q, base) => {
      if (!mixed) phase1.push(q)
      const out = new Float64Array(q.length)
      for (let at = 0; at < q.length; at += h.headDim) {
        const i = base + Math.floor(at / (h.nHead * h.headDim))
        const head = (at / h.headDim) % h.nHead
        const begin = i - (i % S)
        const chunk = trace.find((t) => t.layer === layer && t.pos === begin)!
        const memPos = mixed ? chunk.heads[Math.floor(head / (4 / kvHeads))]!.memPos : []
        const at1 = (i * h.nHead + head) * h.headDim
        const joined = [
          ...logitsOver(h, cache, layer, head, q, at, memPos),
          ...logitsOver(h, cache, layer, head, phase1[layer]!, at1, range(begin, i + 1)),
        ]
        const values = valuesAt(h, cache, layer, head, [...memPos, ...range(begin, i + 1)])
        weightedSum(softmax(joined), values, out, at)
      }
      return out
    }
  forward(model, tokens, { base: 0, attend: attend(false), store: cache })
  const expected = forward(model, tokens, { base: 0, attend: attend(true) })
  expect(nmse(logits, expected)).toBeLessThan(1e-28)
})
