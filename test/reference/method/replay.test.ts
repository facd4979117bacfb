// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// A comparison by replay must be able to fail. Whether the reference is right shows in test/engine, where the engine is
// compared with it: other oracles check the engine too.

import { expect, test } from 'vitest'
import { makeModel } from '../../../src/ts/model-maker/index.js'
import { range } from '../model/attention.js'
import { referenceOf } from '../model/from-gguf.js'
import { checkSelections, setsOf } from './replay.js'
import { nmse, ReferenceSession } from './session.js'

test('replaying its own sets changes nothing, replaying others does', () => {
  const model = referenceOf(
    makeModel({ arch: 'llama', hidden: 64, heads: 4, kvHeads: 2, headDim: 16, attentionGain: 3 }),
  )
  const tokens = range(0, 50).map((i) => (i * i * 7 + i * 13 + 1) % 256)
  const session = () => new ReferenceSession(model, { S: 16, L: 4, H: 4 })
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
