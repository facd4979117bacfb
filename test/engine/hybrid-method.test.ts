// Models with recurrent layers against the float64 reference: short convolutions (lfm2) and gated delta nets with gated
// attention (qwen35), over several calls, sparse and dense. As method.test.ts and query-method.test.ts, the reference
// replays the engine's sets, and each must be a right choice.

import { expect } from 'vitest'
import { blocksOf, checkSets } from '../reference/method/query-replay.js'
import { checkSelections, setsOf } from '../reference/method/replay.js'
import { heavyTurnover } from '../reference/method/selection.js'
import { nmse, ReferenceSession } from '../reference/method/session.js'
import { open, plainModel, randomTokens } from './support.js'
import { selections, testWays } from './ways.js'

// scores in F32 on every machine: AMX rounds them to BF16
process.env.H2O_AMX = '0'
process.env.H2O_INT8 = '0'

const SCORE_TOLERANCE = 1e-5
const LOGITS_NMSE = 1e-9

const S = 96
const budget = { L: 16, H: 32 }
const calls = [5 * S + 7, 1, 1, 3 * S, 40, 2 * S + 1]

const ways = (['lfm2', 'qwen35'] as const).flatMap((arch) => selections.map((select) => ({ arch, select })))

testWays(ways, '$arch, $select', async ({ arch, select }) => {
  const { L, H } = budget
  const model = await plainModel({ arch, layers: 4, kvHeads: 2 })
  const h2o = { local: L, heavy: H, select, trace: true } as const
  const context = await open({ model: model.path, nBatch: 8 * S, nUbatch: S, h2o })
  const reference = new ReferenceSession(model.reference, { S, L, H, select })
  const attention = arch === 'lfm2' ? [1, 3] : [3]
  const turnovers: number[] = []

  for (const [seed, n] of calls.entries()) {
    const tokens = randomTokens(n, seed)
    const { call, logits } = await context.decode(tokens, { logits: 'all' })
    expect(call.path).toBe(n > S ? 'h2o' : 'dense')
    const trace = n > S ? context.takeTrace() : []
    expect([...new Set(trace.map(({ layer }) => layer))]).toEqual(n > S ? attention : [])
    const replayed = select === 'votes' ? { forcedMemory: setsOf(trace) } : { forcedBlocks: blocksOf(trace) }
    const expected = reference.call(tokens, n > S ? replayed : {})

    expect(call).toMatchObject({ path: expected.path, pos: expected.pos, chunks: expected.chunks })
    expect(nmse(logits as Float32Array, expected.logits)).toBeLessThanOrEqual(LOGITS_NMSE)
    expect(checkSelections(expected.trace, budget, SCORE_TOLERANCE)).toEqual([])
    expect(checkSets(expected.blocks, SCORE_TOLERANCE)).toEqual([])
    const chosen = expected.blocks.filter(({ set, pos, nNear }) => set.length < pos - nNear)
    turnovers.push(...chosen.slice(1).map(({ set }, i) => heavyTurnover(chosen[i]?.set ?? [], set)))
  }
  if (select === 'query') {
    expect(turnovers.filter((t) => t >= 0.2).length / turnovers.length).toBeGreaterThanOrEqual(0.4)
  }
})
