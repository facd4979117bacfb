// Sparse for real: what a context takes does not grow with the context, it fits what was
// reserved, and the state that persists is small beside the KV cache.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { presets } from '../../src/ts/model-maker/index.js'
import { modelFile, open } from './support.js'

for (const { select, tags, sizes } of [
  { select: 'query', tags: [], sizes: [8, 16] },
  { select: 'query', tags: ['hostile'], sizes: [16, 64] },
  { select: 'votes', tags: ['ways'], sizes: [16, 64] },
] as const) {
  const name = `what a sparse call needs is the same at ${sizes.join('k and at ')}k of context, and no more than stock takes`

  test(`${name}: ${select}`, { tags: [...tags] }, async () => {
    const model = await modelFile({ ...presets['qwen3-0.6b'], layers: 2, vocab: 1024, context: 1 << 17 })
    const needs = []
    for (const size of sizes) {
      const kv = { typeK: 'f16', typeV: 'f16', flashAttn: 'on' } as const
      const settings = { model, nCtx: size * 1024, nBatch: 4096, nUbatch: 1024, ...kv }
      const context = await open({ ...settings, h2o: { select } })
      expect(context.h2o.covered).toBe(true)
      const { computeBytes, sparseComputeBytes, sparseGraphNodes, h2oStateBytes } = context.memory
      expect(sparseComputeBytes).toBeGreaterThan(0)
      needs.push({ sparseComputeBytes, sparseGraphNodes, h2oStateBytes })
      await context.dispose()

      const off = await open({ ...settings, h2o: false })
      expect(computeBytes).toBe(off.memory.computeBytes)
      await off.dispose()
    }
    expect(needs[1]).toEqual(needs[0])
  })
}

test('votes: the persistent buffers take at most 5 % of the KV cache', { tags: ['ways'] }, async () => {
  // the shape of a Qwen3-0.6B layer: 8 KV heads of 128
  const model = await modelFile({ arch: 'qwen3', layers: 1, heads: 16, kvHeads: 8, headDim: 128 })
  const kv = { typeK: 'f16', typeV: 'f16' } as const
  const sizes = { nCtx: 8192, nBatch: 4096, nUbatch: 1024 }
  const { memory } = await open({ model, ...kv, ...sizes, h2o: { select: 'votes' } })
  expect(memory.h2oStateBytes).toBe(3 * 8 * (2 * 512 + 1024) * 4)
  expect(memory.kvBytes).toBe(2 * 8 * 128 * 8192 * 2)
  expect(memory.h2oStateBytes / memory.kvBytes).toBeLessThanOrEqual(0.05)
})

test('query: so does the index at 32k, which grows with the context', async () => {
  const model = await modelFile({
    arch: 'qwen3',
    layers: 1,
    heads: 16,
    kvHeads: 8,
    headDim: 128,
    context: 1 << 15,
  })
  const kv = { typeK: 'f16', typeV: 'f16' } as const
  const { memory } = await open({ model, ...kv, nCtx: 32768, nBatch: 4096, nUbatch: 1024 })
  // a mean key and a mean value of each page of 64
  expect(memory.h2oIndexBytes).toBe(2 * 8 * 128 * (32768 / 64) * 4)
  expect(memory.h2oStateBytes).toBe(0)
  expect(memory.kvBytes).toBe(2 * 8 * 128 * 32768 * 2)
  expect(memory.h2oIndexBytes / memory.kvBytes).toBeLessThanOrEqual(0.05)
})

// llama.cpp itself compares the compute buffers with the reservation when a context goes
for (const { select, tags, layers, S } of [
  { select: 'query', tags: [], layers: 3, S: 128 },
  { select: 'query', tags: ['hostile'], layers: 28, S: 512 },
  { select: 'votes', tags: ['ways'], layers: 28, S: 512 },
] as const) {
  const name = `${layers} layers at -b ${8 * S} -ub ${S} stay within what was reserved, whatever the lengths of the calls`

  test(`${name}: ${select}`, { tags: [...tags], timeout: 300_000 }, async () => {
    const model = await modelFile({ arch: 'qwen3', layers, context: 1 << 17 })
    const script = `
      import { createContext, setLogLevel } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
      setLogLevel('debug')
      const context = await createContext({ model: ${JSON.stringify(model)}, nCtx: ${32 * S}, nBatch: ${8 * S}, nUbatch: ${S},
        h2o: { select: '${select}', denseTail: 0 } })
      const prompt = (n) => context.prefill(Int32Array.from({ length: n }, (_, i) => 32 + (i * 7) % 90))
      const { calls } = await prompt(${8 * S + S + 1})
      await prompt(${8 * S - 1})
      await prompt(${S + 188})
      await prompt(9)
      await context.dispose()
      console.log(calls.map((call) => call.path).join())
    `
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', script],
      { maxBuffer: 1 << 28 },
    )
    expect(stdout.trim()).toBe('h2o,h2o')
    expect(stderr).toContain('matches expectation')
    expect(stderr).not.toContain('does not match expectation')
  })
}
