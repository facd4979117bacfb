// The two-pass schedule from outside: which graphs a call runs, in which order, and what they hand on. That its results
// are those of its definition is shown in method.test.ts, against the reference.

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { demoText } from '../../src/ts/model-maker/index.js'
import { nmse } from '../reference/method/session.js'
import { allLogits, modelFile, open, randomTokens } from './support.js'

const CLI = fileURLToPath(new URL('../../bin/h2o-prefill.js', import.meta.url))

/** What H2O_DEBUG_PHASES and H2O_DEBUG_CACHE print while the CLI prefills so many tokens. */
async function debugLines(nTokens: number, ...flags: string[]): Promise<string[]> {
  const model = await modelFile({ arch: 'llama', layers: 2, hidden: 64, heads: 2, kvHeads: 1 })
  const text = `${model}.txt`
  writeFileSync(text, demoText(nTokens, 1)) // a token per character, no BOS, no template
  const args = ['-m', model, '-f', text, '-n', '0', '--no-escape', '-ub', '1024', ...flags]
  const env = { ...process.env, H2O_DEBUG_PHASES: '1', H2O_DEBUG_CACHE: '1' }
  const { stderr } = await promisify(execFile)(process.execPath, [CLI, ...args], { env })
  return stderr.split('\n').filter((line) => line.startsWith('[H2O]'))
}

const phase = (n: 1 | 2, nTokens: number, pos: number, chunk: number, hasPrev: 0 | 1) =>
  expect.stringMatching(
    new RegExp(
      `^\\[H2O\\] phase=${n} ubatch.n_tokens=${nTokens} pos=${pos} chunk_idx=${chunk} .*has_prev=${hasPrev} `,
    ),
  )
const cacheReady = (nTokens: number, pos: number) =>
  expect.stringMatching(new RegExp(`^\\[H2O\\] cache ready: n_tokens=${nTokens} base_pos=${pos} `))

test('1500 tokens: phase 1 once over all of them, phase 2 once per chunk', async () => {
  const lines = await debugLines(1500, '-b', '2048', '--h2o-schedule', 'two-pass')
  expect(lines).toEqual([
    phase(1, 1500, 0, 0, 0),
    cacheReady(1500, 0),
    phase(2, 1024, 0, 0, 0),
    phase(2, 476, 1024, 1, 1),
  ])
  expect(lines[0]).toContain('mem_init=0')
  expect(lines[3]).toContain('mem_init=1')
})

test('1500 tokens in a single pass: the same lines', async () => {
  expect(await debugLines(1500, '-b', '2048', '--h2o-dense-tail', '0')).toEqual([
    phase(1, 1500, 0, 0, 0),
    phase(2, 1024, 0, 0, 0),
    phase(2, 476, 1024, 1, 1),
    cacheReady(1500, 0),
  ])
})

test('16384 tokens in four calls: chunk 4 uses the memory of the call before', async () => {
  const lines = await debugLines(16384, '-b', '4096', '--h2o-schedule', 'two-pass')
  const phases = lines.filter((line) => line.includes('phase='))
  expect(phases).toHaveLength(4 * 5)
  expect(phases.slice(5, 7)).toEqual([phase(1, 4096, 4096, 4, 1), phase(2, 1024, 4096, 4, 1)])
  expect(phases[5]).toContain('mem_init=1')
})

test('no more than a chunk: no phase at all', async () => {
  expect(await debugLines(1024, '-b', '2048', '--h2o-schedule', 'two-pass')).toEqual([])
  expect(await debugLines(700, '-b', '2048', '--h2o-schedule', 'two-pass')).toEqual([])
})

test('both schedules agree in a model of one layer, whose queries no earlier layer has changed', async () => {
  const model = await modelFile({ arch: 'qwen3', layers: 1 })
  const tokens = randomTokens(300)
  const run = async (schedule: 'single-pass' | 'two-pass') => {
    const h2o = { local: 8, heavy: 16, select: 'votes', schedule, trace: true } as const
    const context = await open({ model, nBatch: 512, nUbatch: 32, h2o })
    return { logits: await allLogits(context, tokens), sets: context.takeTrace().map((e) => e.memPos) }
  }
  const single = await run('single-pass')
  const double = await run('two-pass')
  expect(double.sets).toEqual(single.sets)
  const worst = Math.max(...double.logits.map((x, i) => Math.abs(x - (single.logits[i] as number))))
  expect(worst).toBeLessThanOrEqual(1e-4)
})

test('in a deeper model they part above layer 0: same sets there, other logits', async () => {
  const model = await modelFile({ arch: 'qwen3', layers: 4 })
  const tokens = randomTokens(8 * 64)
  const run = async (schedule: 'single-pass' | 'two-pass' | 'off') => {
    const h2o =
      schedule === 'off' ? false : ({ local: 16, heavy: 16, select: 'votes', schedule, trace: true } as const)
    const context = await open({ model, nBatch: 512, nUbatch: 64, h2o })
    const logits = await allLogits(context, tokens)
    return { logits, sets: context.takeTrace().map((e) => e.memPos) }
  }
  const dense = await run('off')
  const single = await run('single-pass')
  const double = await run('two-pass')
  expect(double.sets.slice(0, 8)).toEqual(single.sets.slice(0, 8))
  expect(double.sets.slice(8)).not.toEqual(single.sets.slice(8))

  // all positions, random weights: docs/schedules.md quotes these
  const figures = {
    'single-pass against dense': nmse(single.logits, dense.logits),
    'two-pass against dense': nmse(double.logits, dense.logits),
    'two-pass against single-pass': nmse(double.logits, single.logits),
  }
  console.log(figures)
  expect(figures['two-pass against single-pass']).toBeGreaterThan(0.01)
  expect(figures['two-pass against dense']).toBeGreaterThan(figures['single-pass against dense'])
})

test('the intra cache is as large as the call it holds, F32 with an F32 cache and F16 else', async () => {
  const model = await modelFile({ arch: 'llama', layers: 2, hidden: 128, heads: 4, kvHeads: 2 })
  for (const [type, bytes] of [
    ['f32', 4],
    ['f16', 2],
  ] as const) {
    const h2o = { local: 8, heavy: 16, schedule: 'two-pass' } as const
    const { memory } = await open({ model, nBatch: 512, nUbatch: 64, typeK: type, typeV: type, h2o })
    const perLayer = 512 * 4 * 32 * bytes + 512 * 4 * 4 + 512 * 2 * 4
    expect(memory.h2oIntraBytes).toBe(2 * perLayer)
  }
})
