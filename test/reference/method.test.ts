// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The reference against what must hold of the method whatever the model.

import { expect, test } from 'vitest'
import { type Architecture, makeModel } from '../../src/ts/model-maker/index.js'
import { range } from './attention.js'
import { referenceOf } from './from-gguf.js'
import { merge, softmaxState } from './online-softmax.js'
import { checkSelections, setsOf } from './replay.js'
import { nmse, ReferenceSession } from './session.js'

const tiny = (arch: Architecture = 'llama', kvHeads = 2) =>
  referenceOf(makeModel({ arch, hidden: 64, heads: 4, kvHeads, headDim: 16, attentionGain: 3 }))
const text = (n: number, seed = 1) => range(0, n).map((i) => (i * i * 7 + i * 13 * seed + seed) % 256)
const dense = { S: 0, L: 0, H: 0 }

test.each(['llama', 'qwen2', 'qwen3'] as const)('%s: equals dense where nothing is left out', (arch) => {
  const model = tiny(arch)
  const S = 16
  const L = 8
  const tokens = text(L + S + 1)
  const expected = new ReferenceSession(model, dense).call(tokens)
  const nVocab = expected.logits.length / tokens.length

  const session = new ReferenceSession(model, { S, L, H: 4 })
  const first = session.call(tokens.slice(0, L))
  expect(first.path).toBe('dense')
  const second = session.call(tokens.slice(L))
  expect(second).toMatchObject({ path: 'h2o', pos: L, n: S + 1, inherited: L, chunks: 2 })

  expect(nmse(first.logits, expected.logits.slice(0, L * nVocab))).toBeLessThan(1e-28)
  const whole = expected.logits.slice(L * nVocab, (L + S) * nVocab)
  expect(nmse(second.logits.slice(0, S * nVocab), whole)).toBeLessThan(1e-25)
  // the second chunk has lost something: the comparison above is no accident
  const last = expected.logits.slice((L + S) * nVocab)
  expect(nmse(second.logits.slice(S * nVocab), last)).toBeGreaterThan(1e-8)
})

test('one call or many: dense calls see the whole cache', () => {
  const tokens = text(40)
  const whole = new ReferenceSession(tiny(), dense).call(tokens)
  const session = new ReferenceSession(tiny(), { S: 16, L: 4, H: 4 })
  const pieces = [tokens.slice(0, 16), tokens.slice(16, 17), tokens.slice(17, 33), tokens.slice(33)]
  const logits = pieces.flatMap((piece) => [...session.call(piece).logits])
  expect(nmse(logits, whole.logits)).toBeLessThan(1e-28)
})

test.each([1, 2, 4])('%d KV heads: votes are conserved and scores never decrease', (kvHeads) => {
  const group = 4 / kvHeads
  const session = new ReferenceSession(tiny('llama', kvHeads), { S: 16, L: 3, H: 6 })
  const trace = [session.call(text(5)), session.call(text(40)), session.call(text(17, 2))].flatMap(
    (c) => c.trace,
  )
  expect(trace).toHaveLength(2 * (3 + 2))
  expect(checkSelections(trace, { L: 3, H: 6 }, 0)).toEqual([])
  for (const { n, heads } of trace) {
    expect(heads).toHaveLength(kvHeads)
    for (const { memPos, memScore, chunkScore, tracked } of heads) {
      const before = Array.from(memPos, (j) => tracked.get(j) ?? 0)
      expect(sum(chunkScore)).toBeCloseTo(n * group, 9)
      expect(sum(memScore) - sum(before)).toBeCloseTo(memPos.length > 0 ? n * group : 0, 9)
      expect(before.every((score, i) => memScore[i]! >= score)).toBe(true)
    }
  }
  const sets = new Set(trace.map(({ heads }) => String(heads.map(({ memPos }) => memPos))))
  expect(sets.size).toBeGreaterThan(1)
})

test('a call of S tokens is dense, of S + 1 sparse; without a budget all are dense', () => {
  const of = (n: number, options: object) =>
    new ReferenceSession(tiny(), { S: 16, L: 4, H: 4, ...options }).call(text(n))
  expect(of(16, {})).toMatchObject({ path: 'dense', inherited: 0, chunks: 0, trace: [] })
  expect(of(17, {})).toMatchObject({ path: 'h2o', inherited: 0, chunks: 2 })
  expect(of(17, { L: 0, H: 0 }).path).toBe('dense')
  expect(of(17, { L: 0 }).path).toBe('h2o')
  expect(of(17, { H: 0 }).path).toBe('h2o')
  expect(() => of(17, { L: 8, H: 8 })).toThrow(RangeError)
})

test('the result does not depend on how the calls are cut', () => {
  const tokens = text(16 * 6 + 5)
  const session = () => new ReferenceSession(tiny(), { S: 16, L: 4, H: 6 })
  const one = session().call(tokens)
  const cut = session()
  const [a, b] = [cut.call(tokens.slice(0, 48)), cut.call(tokens.slice(48))]
  expect(b.inherited).toBe(10)
  expect(nmse([...a.logits, ...b.logits], one.logits)).toBeLessThan(1e-28)
})

test('replaying its own sets changes nothing, replaying others does', () => {
  const tokens = text(50)
  const session = () => new ReferenceSession(tiny(), { S: 16, L: 4, H: 4 })
  const own = session().call(tokens)
  const sets = own.trace.map(({ layer, heads }) => ({
    layer,
    nHeads: heads.length,
    nMem: heads[0]!.memPos.length,
    memPos: heads.flatMap(({ memPos }) => [...memPos]),
  }))
  const same = session().call(tokens, { forcedMemory: setsOf(sets) })
  expect(same).toEqual(own)
  const other = session().call(tokens, {
    forcedMemory: (...at) => (at[1] === 3 ? [0, 1, 2, 3, 44, 45, 46, 47] : undefined),
  })
  expect(nmse(other.logits, own.logits)).toBeGreaterThan(1e-8)
  const problems = checkSelections(other.trace, { L: 4, H: 4 }, 1e-5).join('\n')
  expect(problems).toMatch(/^layer 0, head 0, chunk at 48: the set has 3, which was no candidate$/m)
})

// src/native/h2o/README.md, rule 6: merging two online-softmax states is what one softmax over all keys gives
test.each([
  ['ordinary', [0.3, -1, 2], [1, 0.5, -0.2, 4]],
  ['far apart', [100, 99], [-100, -98]],
  ['far apart, the other way', [-100, -99.5], [100, 97]],
  ['one side empty', [], [3, 1]],
  ['the other side empty', [-100, 100], []],
])('fusion is one softmax over the joined keys: %s', (_, inter, intra) => {
  const values = [...inter, ...intra].map((_, i) => Float64Array.of(Math.cos(i) + 2, i))
  const state = (logits: number[], from: number) =>
    softmaxState(logits, values.slice(from, from + logits.length), 2)
  const joined = state([...inter, ...intra], 0)
  const merged = merge(state(inter, 0), state(intra, inter.length))
  expect(merged.m).toBe(joined.m)
  expect(merged.l).toBeCloseTo(joined.l, 12)
  for (const k of [0, 1]) expect(merged.o[k]).toBeCloseTo(joined.o[k]!, 12)
})

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((a, b) => a + b, 0)
}
