// What doctor predicts, against the shapes it comes from and against what was measured.
import { expect, it } from 'vitest'
import { LENGTHS, predictGains, RATIOS } from '../../src/ts/cli/doctor/gain.js'
import { presets } from '../../src/ts/model-maker/index.js'

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
