// llama-completion: what a prompt of exactly N tokens does, call by call. `-no-cnv` keeps chat templates away, our
// models have no BOS, and a decoded prompt needs `-n 1`: with `-n 0` the tool stops before it.

import { expect, test } from 'vitest'
import { calls, h2oLines, letters, modelFile, type Outcome, run, textFile } from './support.js'

async function complete(n: number, args: string[], env: Record<string, string> = {}): Promise<Outcome> {
  const prompt = ['-f', textFile(letters(n)), '-n', '1', '--temp', '0', '--ignore-eos']
  const quiet = ['-no-cnv', '--no-warmup', '--no-display-prompt']
  return run('llama-completion', ['-m', await modelFile(), ...prompt, ...quiet, ...args], env)
}

const phases = (outcome: Outcome) =>
  h2oLines(outcome).flatMap((line) => (line.includes('phase=') ? [line.replace('[H2O] ', '')] : []))

test.each(['single-pass', 'two-pass'])('1500 tokens with -b 2048 -ub 1024, %s', async (schedule) => {
  const args = ['-b', '2048', '-ub', '1024', '--h2o-schedule', schedule, '--h2o-dense-tail', '0']
  const outcome = await complete(1500, args, { H2O_DEBUG_PHASES: '1' })

  expect(phases(outcome)).toEqual([
    expect.stringMatching(/^phase=1 ubatch\.n_tokens=1500 .*chunk_idx=0 /),
    expect.stringMatching(/^phase=2 ubatch\.n_tokens=1024 .*chunk_idx=0 .*has_prev=0 mem_init=0$/),
    expect.stringMatching(/^phase=2 ubatch\.n_tokens=476 .*chunk_idx=1 .*has_prev=1 mem_init=1$/),
  ])
  expect(calls(outcome)).toEqual(['h2o (1 call, 1500 tokens)'])
})

test('the last 64 tokens of a prompt are dense by default', async () => {
  const outcome = await complete(550, ['-b', '256', '-ub', '64', '--h2o-local', '20', '--h2o-heavy', '20'])
  expect(calls(outcome)).toEqual(['h2o (2 calls, 486 tokens), dense one-chunk (1 call, 64 tokens)'])
})

test('the end of a prompt is dense, in calls of a chunk, where it shall be', async () => {
  const sizes = ['-b', '256', '-ub', '64', '--h2o-local', '20', '--h2o-heavy', '20']
  const outcome = await complete(550, [...sizes, '--h2o-dense-tail', '100'])
  expect(calls(outcome)).toEqual(['h2o (2 calls, 450 tokens), dense one-chunk (2 calls, 100 tokens)'])
})

test.each([
  ['in one chunk', 60, [], []],
  [
    'of votes',
    550,
    ['--h2o-select', 'votes'],
    ['h2o (2 calls, 512 tokens), dense one-chunk (1 call, 38 tokens)'],
  ],
])('no tail: a prompt %s', async (_, n, args, expected) => {
  const sizes = ['-b', '256', '-ub', '64', '--h2o-local', '20', '--h2o-heavy', '20']
  expect(calls(await complete(n, [...sizes, ...args]))).toEqual(expected)
})

test('nothing is counted where nothing was to be sparse', async () => {
  const args = ['-b', '256', '-ub', '64', '--h2o-local', '20', '--h2o-heavy', '20']
  expect(calls(await complete(60, args))).toEqual([])
  expect(calls(await complete(300, [...args, '--h2o-local', '0', '--h2o-heavy', '0']))).toEqual([])
})
