// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// What sparse calls hand on, and what dense calls and rollbacks leave of it. S = 4, L = 1, H = 2.

import { expect, test } from 'vitest'
import { makeModel } from '../../src/ts/model-maker/index.js'
import { range } from './attention.js'
import { referenceOf } from './from-gguf.js'
import { checkSelection } from './selection.js'
import { ReferenceSession } from './session.js'

const model = referenceOf(makeModel({ arch: 'llama', hidden: 32, heads: 2, kvHeads: 1 }))
const text = (n: number, seed = 1) => range(0, n).map((i) => (i * i * 7 + i * 13 * seed + seed) % 256)

/** A session after ten tokens: chunks [0, 4) [4, 8) [8, 10), memory of three below 8. */
function afterTen() {
  const session = new ReferenceSession(model, { S: 4, L: 1, H: 2 })
  const call = session.call(text(10))
  return { session, call, before: structuredClone(session.state) }
}

test('the last memory set and the last chunk persist, with their scores', () => {
  const { session, call } = afterTen()
  for (const { layer, heads } of call.trace.filter(({ chunk }) => chunk === 2)) {
    const { memory, chunk } = session.state[layer]![0]!
    expect([...memory]).toEqual(Array.from(heads[0]!.memPos, (j, i) => [j, heads[0]!.memScore[i]]))
    expect([...chunk]).toEqual(Array.from(heads[0]!.chunkScore, (score, i) => [8 + i, score]))
    expect(memory.size).toBe(3)
    expect(memory.has(7)).toBe(true)
  }
})

test('decoding leaves the state as it is; the next sparse call inherits it', () => {
  const { session, before } = afterTen()
  for (const token of [3, 1, 4]) session.call([token])
  session.call([1, 5, 9, 2])
  expect(session.state).toEqual(before)

  const next = session.call(text(6, 2)) // at 17: local 16 is nobody's vote yet
  expect(next).toMatchObject({ pos: 17, inherited: 3 })
  const { memPos, tracked } = next.trace[0]!.heads[0]!
  const { memory, chunk } = before[0]![0]!
  expect(new Map(tracked)).toEqual(new Map([...memory, ...chunk]))
  expect(memPos[2]).toBe(16)
  expect(checkSelection(memPos, tracked, { L: 1, H: 2, p: 17 }, 0)).toEqual([])
})

test('rollback past the last sparse chunk changes nothing', () => {
  const { session, before } = afterTen()
  session.call([3, 1, 4])
  session.rollback(11)
  expect(session.state).toEqual(before)
  session.rollback(10)
  expect(session.state).toEqual(before)
  expect(session.position).toBe(10)
})

test('rollback into the last chunk cuts it; votes already cast stay', () => {
  const { session, before } = afterTen()
  session.rollback(9)
  for (const layer of [0, 1]) {
    expect(session.state[layer]![0]!.memory).toEqual(before[layer]![0]!.memory)
    expect([...session.state[layer]![0]!.chunk]).toEqual([...before[layer]![0]!.chunk].slice(0, 1))
  }
})

test('rollback below the last chunk also cuts the memory; what was forgotten starts at 0', () => {
  const { session, before } = afterTen()
  session.rollback(6)
  const left = [...before[0]![0]!.memory].filter(([j]) => j < 6)
  expect([...session.state[0]![0]!.memory]).toEqual(left)
  expect(session.state[0]![0]!.chunk.size).toBe(0)

  const next = session.call(text(5, 2))
  expect(next).toMatchObject({ pos: 6, inherited: 3 })
  const { memPos, memScore, tracked } = next.trace[0]!.heads[0]!
  expect(checkSelection(memPos, tracked, { L: 1, H: 2, p: 6 }, 0)).toEqual([])
  expect([...tracked]).toEqual(left)
  const carried = Array.from(memPos, (j) => tracked.get(j) ?? 0).reduce((a, b) => a + b)
  expect(memScore.reduce((a, b) => a + b) - carried).toBeCloseTo(4 * 2, 9)
})

test('clear and rollback to 0 leave a new session', () => {
  const { session, call } = afterTen()
  session.call(text(9))
  session.clear()
  expect(session.position).toBe(0)
  expect(session.call(text(10))).toEqual(call)
})

test('a first sparse call after a dense one finds untracked positions: the tail and the lowest', () => {
  const session = new ReferenceSession(model, { S: 4, L: 1, H: 2 })
  session.call(text(4))
  session.call([7])
  const { trace } = session.call(text(5))
  expect([...trace[0]!.heads[0]!.memPos]).toEqual([0, 1, 4])
  expect(trace[0]!.heads[0]!.tracked.size).toBe(0)
})

test('weights with NaN end in a valid set', () => {
  const bad = referenceOf(
    makeModel({ arch: 'llama', hidden: 32, heads: 2, kvHeads: 1, edit: (_, v) => void v.fill(NaN) }),
  )
  const { trace } = new ReferenceSession(bad, { S: 4, L: 1, H: 2 }).call(text(10))
  expect(trace.map(({ heads }) => [...heads[0]!.memPos])).toEqual([
    [],
    [0, 1, 3],
    [0, 1, 7],
    [],
    [0, 1, 3],
    [0, 1, 7],
  ])
})
