/** RoPE options: what the model's file can say, said by the caller. */

import { expect, it, vi } from 'vitest'
import type { RopeOptions } from '../../../src/ts/index.js'
import { someTokens, tinyContext, tinyModel } from '../support.js'

const prompt = someTokens(400)
const text = (value: string) => ({ type: 'string', value }) as const
const float = (value: number) => ({ type: 'f32', value }) as const
const logitsOf = async (settings: Parameters<typeof tinyContext>[0]) => {
  await using context = await tinyContext(settings)
  return (await context.prefill(prompt)).logits
}

it.each<[string, RopeOptions, Record<string, ReturnType<typeof text> | ReturnType<typeof float>>]>([
  [
    'linear',
    { scaling: 'linear', freqScale: 0.5 },
    { 'llama.rope.scaling.type': text('linear'), 'llama.rope.scaling.factor': float(2) },
  ],
  [
    'yarn',
    { scaling: 'yarn', freqScale: 0.25 },
    { 'llama.rope.scaling.type': text('yarn'), 'llama.rope.scaling.factor': float(4) },
  ],
  ['another base', { freqBase: 500_000 }, { 'llama.rope.freq_base': float(500_000) }],
])('%s is what the same in the file is', async (_, rope, metadata) => {
  const asked = await logitsOf({ rope })
  expect(asked).toEqual(await logitsOf({ model: await tinyModel({ metadata }) }))
  expect(asked).not.toEqual(await logitsOf({}))
})

it('refuses a state of other options', async () => {
  await using plain = await tinyContext()
  await plain.prefill(prompt)
  const state = await plain.saveState()
  await using same = await tinyContext({ rope: {} })
  expect((await same.loadState(state)).position).toBe(400)
  await using other = await tinyContext({ rope: { freqScale: 0.5 } })
  await expect(other.loadState(state)).rejects.toMatchObject({ code: 'ERR_H2O_STATE_INVALID' })
})

it.each([
  { freqScale: 0 },
  { freqBase: Number.NaN },
  { scaling: 'longrope' },
  { yarnOrigCtx: -1 },
  { factor: 2 },
  4,
])('refuses %o', async (rope) => {
  await expect(tinyContext({ rope: rope as RopeOptions })).rejects.toMatchObject({
    code: 'ERR_H2O_INVALID_ARGUMENT',
  })
})

it('warns of a context above the training context once, but not where other positions were asked for', async () => {
  const path = await tinyModel({ context: 512 })
  const warningsOf = async (rope: RopeOptions) => {
    const onWarning = vi.fn()
    await using context = await tinyContext({ model: path, nCtx: 1024, rope, onWarning })
    expect(context.nCtx).toBe(1024)
    return onWarning.mock.calls.map(([{ code }]) => code)
  }
  expect(await warningsOf({})).toEqual(['H2O_WARN_CONTEXT_ABOVE_TRAINING'])
  expect(await warningsOf({ scaling: 'yarn', freqScale: 0.5 })).toEqual([])
  expect(await warningsOf({ freqBase: 1e6 })).toEqual([])
})
