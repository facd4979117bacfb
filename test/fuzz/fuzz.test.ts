/**
 * A short run of every kind with fixed seeds, and everything that once broke something. `npm run fuzz` is the long one.
 */

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it, vi } from 'vitest'

// main.mjs ends a mutant that hangs; a busy machine takes three times as long
vi.setConfig({ testTimeout: 600_000 })

const PROGRAM = fileURLToPath(new URL('main.mjs', import.meta.url))

function fuzz(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) =>
    execFile(process.execPath, [PROGRAM, ...args], (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    ),
  )
}

it('what once broke something does so no more', async () => {
  const { code, stdout, stderr } = await fuzz('--corpus')
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout).runs).toBeGreaterThan(20)
})

it.each([
  ['gguf', 300],
  ['split', 120],
  ['vocab', 150],
  ['lora', 150],
  ['state', 150],
  ['api', 60],
  ['grammar', 60], // each may spend the whole budget of a grammar: some ten seconds
  ['chat', 400],
  ['template', 60],
  ['windows', 40],
  ['sequences', 40],
  ['http', 150],
  ['flags', 12],
])('%s: %i mutants', async (kind, runs) => {
  const { code, stdout, stderr } = await fuzz('--kind', kind, '--runs', String(runs), '--seed', '1')
  expect(code, stderr).toBe(0)
  const result = JSON.parse(stdout)
  expect(result.distinct).toBeGreaterThan(runs * 0.9)
  // mutants that are all refused test nothing; calls of these kinds are all good ones
  expect(Object.keys(result.outcomes).length).toBeGreaterThan(['api', 'windows'].includes(kind) ? 0 : 1)
})
