// The two references in float64, of TypeScript (test/reference) and Python (method.py), against each other: whole sessions,
// each with its own sets. Nothing native takes part.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { f32, type ModelSpec, makeModel, resolveSpec, writeGguf } from '../../src/ts/model-maker/index.js'
import { ggufPython } from '../model/python.js'
import { ReferenceSession } from '../reference/method/session.js'
import { range } from '../reference/model/attention.js'
import { referenceOf } from '../reference/model/from-gguf.js'
import { compare } from './compare.js'

const models: ModelSpec[] = [
  { arch: 'llama', layers: 2 },
  { arch: 'gemma2', layers: 2, slidingWindow: 24, metadata: { 'gemma2.attn_logit_softcapping': f32(4) } },
  { arch: 'gpt-oss', layers: 2, slidingWindow: 24 },
]
const cases = models.flatMap((spec) => (['query', 'votes'] as const).map((select) => ({ spec, select })))

const folder = mkdtempSync(join(tmpdir(), 'h2o-references-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!ggufPython)('as the other reference', () => {
  test.each(cases)('$select: $spec.arch', { timeout: 60_000 }, async ({
    spec: { arch, ...rest },
    select,
  }) => {
    // GELU is of a table in one of them alone
    const edit: ModelSpec['edit'] = (name, values) => {
      if (arch === 'gemma2' && name.endsWith('ffn_down.weight')) values.fill(0)
    }
    const spec = { arch, hidden: 64, headDim: 16, kvHeads: 2, attentionGain: 3, edit, ...rest }
    const made = makeModel(spec)
    const model = join(folder, 'model.gguf')
    await writeGguf(made, model)
    const [S, L, H] = [128, 24, 48]
    const session = new ReferenceSession(referenceOf(made), { S, L, H, select })
    const steps = [20, 3 * S + 9, 1, 2 * S].map((n, step) => {
      const tokens = range(0, n).map((i) => (i * i * 7 + i * 13 + step) % 256)
      const { logits, path } = session.call(tokens)
      const bytes = Buffer.from(Float32Array.from(logits).buffer).toString('base64')
      return { tokens, isSparse: path === 'h2o', trace: [], logits: bytes }
    })
    const compared = compare({ model, config: resolveSpec(spec), S, L, H, select, steps })
    expect(compared).toHaveLength(steps.length)
    for (const { nmse } of compared) expect(nmse).toBeLessThan(1e-14) // logits pass as F32
  })
})
