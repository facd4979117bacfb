/** A short run of every kind with fixed seeds, and everything that once broke something. */

import { expect, it, vi } from 'vitest'
import { expectNoFinding, fuzz, RUNS } from './short-run.js'

// main.mjs ends a mutant that hangs; a busy machine takes three times as long
vi.setConfig({ testTimeout: 600_000 })

it('what once broke something does so no more', async () => {
  const { code, lines, stderr } = await fuzz('--corpus')
  expect(code, stderr).toBe(0)
  expect(lines[0]?.runs).toBeGreaterThan(20)
})

it.each(Object.entries(RUNS))('%s: %i mutants', async (kind, runs) => {
  const { outcomes } = await expectNoFinding(kind, runs, 1)
  // mutants that are all refused test nothing; calls of these kinds are all good ones
  expect(Object.keys(outcomes).length).toBeGreaterThan(['api', 'windows'].includes(kind) ? 0 : 1)
})
