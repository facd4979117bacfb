// llama-batched-bench: several sequences in a call, and what it says of them.

import { expect, test } from 'vitest'
import { calls, h2oLines, modelFile, type Outcome, run } from './support.js'

async function bench(...args: string[]): Promise<Outcome> {
  const sizes = ['-c', '2400', '-b', '256', '-ub', '64', '--h2o-local', '20', '--h2o-heavy', '20']
  const work = ['-npp', '300', '-ntg', '4', '-npl', '4']
  const outcome = await run('llama-batched-bench', ['-m', await modelFile(), ...sizes, ...work, ...args])
  expect(outcome.status, outcome.stderr).toBe(0)
  return outcome
}

/** Rows of the table: prompt, answer, sequences. */
const rows = ({ stdout }: Outcome) =>
  [...stdout.matchAll(/^\| +(\d+) \| +(\d+) \| +(\d+) \|/gm)].map((row) => row.slice(1).map(Number))

test('prompts of four sequences, some of them cut by a call', async () => {
  const outcome = await bench()
  expect(rows(outcome)).toEqual([[300, 4, 4]])
  expect(h2oLines(outcome)[0]).toContain('prompts of more than 64 tokens (-ub) are prefilled sparsely')
  // 16 tokens of warm-up, 44 that begin a prompt at the end of a call, 16 of answers
  expect(calls(outcome)).toEqual(['h2o (5 calls, 1156 tokens), dense one-chunk (6 calls, 76 tokens)'])
})
