// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The crafted cases do what they are there for: Heavy keeps changing.

import { expect, test } from 'vitest'
import { type Architecture, makeModel } from '../../../src/ts/model-maker/index.js'
import { range } from '../model/attention.js'
import { referenceOf } from '../model/from-gguf.js'
import { type ChunkTrace, heavyTurnovers } from './h2o.js'
import { craftWeights } from './hot-model.js'
import { HotText } from './hot-text.js'
import { heavyOf } from './selection.js'
import { nmse, ReferenceSession } from './session.js'

function hotModel(arch: Architecture, kvHeads: number, headDim = 16) {
  const model = referenceOf(makeModel({ arch, hidden: 4 * headDim, heads: 4, kvHeads }))
  craftWeights(model)
  return model
}

/** The share of selections that replaced at least a fifth of Heavy. */
function lively(trace: ChunkTrace[], L: number): number {
  const turnovers = heavyTurnovers(trace, L)
  return turnovers.filter((t) => t >= 0.2).length / turnovers.length
}

const budgets = [
  { S: 16, L: 4, H: 8, k: 8 },
  { S: 16, L: 8, H: 4, k: 16 },
  { S: 16, L: 0, H: 11, k: 4 },
  { S: 32, L: 8, H: 16, k: 8 },
  { S: 32, L: 20, H: 8, k: 4 },
  { S: 32, L: 8, H: 8, k: 3 },
  { S: 64, L: 16, H: 16, k: 4 },
  { S: 64, L: 16, H: 40, k: 8 },
]
const cases = (['llama', 'qwen2', 'qwen3'] as const).flatMap((arch, a) =>
  budgets.flatMap((budget, i) => {
    const c = { arch, kvHeads: [1, 2, 4][i % 3]!, ...budget }
    const single = { ...c, schedule: 'single-pass' as const }
    return i % 3 === a ? [single, { ...c, schedule: 'two-pass' as const }] : [single]
  }),
)

test.each(cases)('$schedule, $arch, $kvHeads KV heads, S=$S L=$L H=$H: lively over $k chunks', ({
  schedule,
  arch,
  kvHeads,
  S,
  L,
  H,
  k,
}) => {
  for (const n of [k * S, (k - 1) * S + 3]) {
    const session = new ReferenceSession(hotModel(arch, kvHeads), { S, L, H, schedule })
    const { trace } = session.call(new HotText({ S, H, nChunks: k }).next(n))
    for (const layer of [0, 1]) {
      const ofLayer = trace.filter((t) => t.layer === layer)
      expect(lively(ofLayer, L)).toBeGreaterThanOrEqual(0.5)
    }
  }
})

test.each([
  ['llama', 'single-pass'],
  ['qwen3', 'single-pass'],
  ['qwen2', 'two-pass'],
] as const)('%s, %s: lively over several calls, after dense ones and a rollback', (arch, schedule) => {
  const [S, L, H] = [16, 4, 6]
  const session = new ReferenceSession(hotModel(arch, 2, 32), { S, L, H, schedule })
  const text = new HotText({ S, H, nChunks: 14 })
  const call = (n: number) => session.call(text.next(n)).trace
  const trace = [5, 4 * S, 3 * S, 2 * S + 1, 1, 1].flatMap(call)
  session.rollback(120)
  text.rewind(120)
  trace.push(...[2 * S + 8, 3 * S].flatMap(call))
  expect(lively(trace, L)).toBeGreaterThanOrEqual(0.5)
})

test('a hot token of chunk 0 survives, a late hot one enters, an early-only one leaves', () => {
  const [S, L, H, k] = [32, 8, 8, 8]
  const text = new HotText({ S, H, nChunks: k })
  const { trace } = new ReferenceSession(hotModel('llama', 2), { S, L, H }).call(text.next(k * S))
  for (const { pos, chunk, heads } of trace.filter(({ chunk }) => chunk === 2 || chunk === k - 1)) {
    for (const [head, { memPos }] of heads.entries()) {
      const heavy = new Set(heavyOf(memPos, pos, L))
      const kept = (generation: number) =>
        text.hot.filter((t) => t.parity === head % 2 && t.generation === generation && heavy.has(t.position))
          .length
      expect(heavy.has(0)).toBe(true)
      expect(kept(1)).toBe(chunk === 2 ? 3 : 0)
      expect(kept(chunk - 1)).toBeGreaterThanOrEqual(2)
    }
  }
})

test.each([
  ['single-pass', 0],
  ['single-pass', 1],
  ['two-pass', 0],
  ['two-pass', 1],
] as const)('%s: the logits tell when Heavy is wrong in layer %d', (schedule, layer) => {
  const [S, L, H, k] = [16, 4, 8, 8]
  const session = () => new ReferenceSession(hotModel('qwen3', 2), { S, L, H, schedule })
  const tokens = new HotText({ S, H, nChunks: k }).next(k * S)
  const right = session().call(tokens)
  // one KV head takes, in the last chunk only, another position for its last heavy one
  const { pos, heads } = right.trace.find((t) => t.layer === layer && t.chunk === k - 1)!
  const members = [...heads[0]!.memPos]
  const dropped = heavyOf(members, pos, L).at(-1)!
  const other = range(dropped, pos).find((j) => !members.includes(j))!
  const wrong = session().call(tokens, {
    forcedMemory: (...at) =>
      String(at) === String([layer, k - 1, 0])
        ? members.map((j) => (j === dropped ? other : j)).sort((a, b) => a - b)
        : undefined,
  })
  const nVocab = right.logits.length / tokens.length
  const last = (logits: Float64Array) => logits.slice(-S * nVocab)
  expect(nmse(wrong.logits, right.logits)).toBeGreaterThan(1e-7)
  expect(nmse(last(wrong.logits), last(right.logits))).toBeGreaterThan(1e-6)
})
