// What doctor predicts, against the shapes it comes from and against what was measured.
import { describe, expect, it } from 'vitest'
import { LENGTHS, predictGainOf, predictGains, RATIOS } from '../../src/ts/gain.js'
import type { Call } from '../../src/ts/index.js'
import { presets } from '../../src/ts/model-maker/index.js'
import { denseCall, h2oInfo, sparseCall } from './support/fake-api.js'

/** Four layers of Qwen3-0.6B's shape, the model of bench/results/2026-11-20-full-intel-xeon-2-cores.md. */
const { hidden, heads, kvHeads, headDim, ffn } = presets['qwen3-0.6b']
const qkvo = 2 * hidden * headDim * (2 * heads + 2 * kvHeads)
// the last layer needs its FFN for the tokens alone whose logits are asked for
const demo = {
  linear: 4 * qkvo + 3 * 6 * hidden * ffn,
  pair: 4 * heads * 4 * headDim,
  windowPair: 0,
  window: 0,
}

const defaults = { covered: true, select: 'query', heavy: 640, heavyGrows: false } as const

const cpu = RATIOS.indexOf(4)

it('is near what was measured on a CPU without AMX', () => {
  const [at8k, at32k] = predictGains({ ...defaults, heavy: 384, cost: demo }).map(
    ({ times }) => times[cpu] as number,
  )
  expect(at8k).toBeGreaterThan(2.59 / 1.2)
  expect(at8k).toBeLessThan(2.59 * 1.2)
  expect(at32k).toBeGreaterThan(8.26 / 1.2)
  expect(at32k).toBeLessThan(8.26 * 1.2)
})

describe('of a run', () => {
  const h2o = { ...h2oInfo, ...defaults, chunk: 1024, local: 128, denseTail: 64, cost: demo }
  const sparse = (pos: number, n: number) => ({ ...sparseCall, pos, n })
  const run = (...calls: Call[]) => ({ path: 'h2o', schedule: 'single-pass', calls }) as const

  it('is that of doctor for a whole prompt of the same sizes, in however many calls', () => {
    const [at8k] = predictGains({ ...defaults, cost: demo }).map(({ times }) => times[cpu] as number)
    expect(predictGainOf(run(sparse(0, 8192)), h2o)).toBeCloseTo(at8k as number, 9)
    expect(predictGainOf(run(sparse(0, 4096), sparse(4096, 4096)), h2o)).toBeCloseTo(at8k as number, 9)
  })

  it('is less with a dense tail, and more behind a long text', () => {
    const plain = predictGainOf(run(sparse(0, 8192)), h2o) as number
    const tail = { ...denseCall, pos: 8192, n: 64 }
    expect(predictGainOf(run(sparse(0, 8192), tail), h2o)).toBeLessThan(plain)
    expect(predictGainOf(run(sparse(8192, 8192)), h2o)).toBeGreaterThan(plain)
    expect(predictGainOf(run({ ...denseCall, pos: 8192, n: 64 }), h2o)).toBe(1)
  })

  it('is not known where doctor has no basis', () => {
    const prefill = run(sparse(0, 8192))
    expect(predictGainOf({ ...prefill, path: 'dense' }, h2o)).toBeUndefined()
    expect(predictGainOf({ ...prefill, schedule: 'two-pass' }, h2o)).toBeUndefined()
    expect(predictGainOf(prefill, { ...h2o, layers: ['sparse', 'recurrent'] })).toBeUndefined()
  })
})

it('grows with the length, and with what attention costs', () => {
  const gains = predictGains({ ...defaults, cost: demo })
  expect(gains.map(({ tokens }) => tokens)).toEqual([...LENGTHS])
  for (const [i, { times }] of gains.entries()) {
    expect(times).toEqual([...times].sort((a, b) => a - b))
    if (i > 0) expect(times[0]).toBeGreaterThan(gains[i - 1]?.times[0] as number)
  }
})

it('is less where sets grow, which they do beyond 4096 candidates', () => {
  const fixed = predictGains({ ...defaults, cost: demo })
  const grown = predictGains({ ...defaults, heavyGrows: true, cost: demo })
  for (const [i, { tokens, times }] of fixed.entries()) {
    const less = times.map((time, j) => (grown[i]?.times[j] as number) < time)
    expect(less).toEqual(times.map(() => tokens / 2 > 4096))
  }
})

it('knows nothing to gain where little attention is over all positions', () => {
  const cost = { ...demo, pair: 1, windowPair: demo.pair, window: 1024 }
  for (const { times } of predictGains({ ...defaults, cost }))
    for (const time of times) expect(time).toBeCloseTo(1, 2)
  expect(predictGains({ ...defaults, covered: false, cost: demo })).toEqual([])
})
