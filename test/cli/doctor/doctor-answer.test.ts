// What doctor says of answers: how long their tokens take, against a measurement, and how many were lost.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type AnswerSizes, predictAnswers } from '../../../src/ts/cli/doctor/answer.js'
import { describeQuality, measuredFor } from '../../../src/ts/cli/doctor/quality.js'
import type { LayerKind } from '../../../src/ts/index.js'
import { presets } from '../../../src/ts/model-maker/index.js'
import { root } from '../support/spawn.js'

/** Four layers of Qwen3-0.6B's shape in Q8_0, the model of docs/cpu-kernel.md. */
const { hidden, heads, kvHeads, headDim, ffn } = presets['qwen3-0.6b']
const nParams = 4 * (hidden * headDim * (2 * heads + 2 * kvHeads) + 3 * hidden * ffn) + 1024 * hidden
const demo = {
  model: { sizeBytes: (nParams * 34) / 32, nParams, nVocab: 1024, nEmbd: hidden },
  h2o: {
    layers: Array(4).fill('sparse'),
    cost: { linear: 2 * (nParams - 1024 * hidden), pair: 1, windowPair: 0, window: 0 },
    group: 2,
  },
  kvBytes: 4 * kvHeads * headDim * 2 * 2,
}
const some = () => 512

describe('the time of an answer', () => {
  it('is near what was measured', () => {
    // ms of CPU a token: 12.6 behind 4096, 20.5 behind 8192, so 4.7 behind none; 13.0 by 512 keys
    const [at8k] = predictAnswers(demo, some)
    const [least = 0, most = 0] = at8k?.exact ?? []
    expect(20.5 / 4.7).toBeGreaterThan(least)
    expect(20.5 / 4.7).toBeLessThan(most)
    const [sparseLeast = 0, sparseMost = 0] = at8k?.sparse ?? []
    expect(13 / 4.7).toBeGreaterThan(sparseLeast)
    expect(13 / 4.7).toBeLessThan(sparseMost * 1.1)
  })

  it('grows by the layers that see all positions', () => {
    const layers: LayerKind[] = ['sparse', 'window', 'window', 'window']
    const added = (h2o: AnswerSizes['h2o']) =>
      (predictAnswers({ ...demo, h2o }, some)[0]?.exact[0] as number) - 1
    expect(added({ ...demo.h2o, layers })).toBeCloseTo(added(demo.h2o) / 4, 9)
  })

  it('is not said by chosen keys where auto reads all of them, nor at all of recurrent layers', () => {
    expect(predictAnswers(demo, () => 0).map(({ sparse }) => sparse)).toEqual([null, null, null])
    expect(predictAnswers({ ...demo, h2o: { ...demo.h2o, layers: ['sparse', 'recurrent'] } }, some)).toEqual(
      [],
    )
  })
})

it('quality is that of the measured model whose groups are nearest', () => {
  expect([1, 2, 3, 4, 5, 6, 8, 16].map((group) => measuredFor(group).group)).toEqual([2, 2, 3, 4, 6, 6, 7, 7])
  expect(describeQuality(1)).toMatch(/^1 query head to a KV head; .* the recall model \(2\) lost 0 of 56 /)
})

it('quality is what the first table of docs/quality.md says', () => {
  const page = readFileSync(join(root, 'docs/quality.md'), 'utf8')
  const [, table = ''] = page.split('| | where | questions |')
  const [rows = ''] = table.split('\n\n')
  let model = ''
  const sums = new Map<string, number[]>()
  for (const line of rows.split('\n').slice(2)) {
    const [, first = '', where, , ...counts] = line.split('|').map((cell) => cell.trim())
    model = /^(Qwen2.5-Coder-[\d.]+B|SmolLM2-135M|Gemma 3 270M)/.exec(first)?.[1] ?? model
    const [dense = 0, , lost = 0, won = 0] = counts.map((cell) => Number(cell.replaceAll('*', '')))
    if (where === 'inside')
      sums.set(
        model,
        [dense, lost, won].map((n, i) => n + (sums.get(model)?.[i] ?? 0)),
      )
  }
  expect(sums.size).toBe(4)
  for (const group of [3, 4, 6, 7]) {
    const { model: name, of, lost, won } = measuredFor(group)
    expect([name, of, lost, won]).toEqual([name, ...(sums.get(name) ?? [])])
  }
})
