// llama-bench: the parameters take lists and ranges, and each result names them.

import { expect, test } from 'vitest'
import { calls, modelFile, run } from './support.js'

const sizes = ['-p', '200', '-n', '0', '-r', '1', '-b', '256', '-ub', '64']

async function bench(...args: string[]) {
  const outcome = await run('llama-bench', ['-m', await modelFile(), ...args])
  expect(outcome.status, outcome.stderr).toBe(0)
  return outcome
}

test('runs with H2O unless told otherwise, and says what was sparse', async () => {
  const outcome = await bench(...sizes, '-n', '8', '-o', 'json')
  const results = JSON.parse(outcome.stdout)
  expect(results).toHaveLength(2)
  for (const [i, result] of results.entries()) {
    expect(result).toMatchObject({
      h2o_local: [16, 2][i], // a quarter of a chunk, which the context of 8 tokens shortens
      h2o_heavy: 640,
      h2o_schedule: 'single-pass',
      h2o_select: 'query',
    })
  }
  // warm-up and one repetition; generation has nothing to tell
  expect(calls(outcome)).toEqual(['h2o (2 calls, 400 tokens)'])
})

test('a refused prompt is told too', async () => {
  const model = await modelFile({ arch: 'mpt' })
  const outcome = await run('llama-bench', ['-m', model, ...sizes])
  expect(calls(outcome)).toEqual([
    'h2o (0 calls, 0 tokens), dense unsupported-attention (2 calls, 400 tokens)',
  ])
})

test('lists and ranges make every combination', async () => {
  const lists = ['--h2o-local', '0,16-32+16', '--h2o-heavy', '8', '--h2o-schedule', 'single-pass,two-pass']
  const { stdout } = await bench(...sizes, '--no-warmup', ...lists, '-o', 'jsonl')
  const results = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map((result) => [result.h2o_local, result.h2o_heavy, result.h2o_schedule])
  expect(results).toEqual(
    [0, 16, 32].flatMap((local) => ['single-pass', 'two-pass'].map((schedule) => [local, 8, schedule])),
  )
})

test('both selections', async () => {
  const outcome = await bench(...sizes, '--no-warmup', '--h2o-select', 'votes,query', '-o', 'jsonl')
  const results = outcome.stdout.trim().split('\n')
  expect(results.map((line) => JSON.parse(line).h2o_select)).toEqual(['votes', 'query'])
  expect(calls(outcome)).toEqual(Array(2).fill('h2o (1 call, 200 tokens)'))
})

test('columns of the table, csv and sql', async () => {
  const off = ['--h2o-local', '0', '--h2o-heavy', '0', '--no-warmup']
  const columns = (table: string) => table.split('\n', 1)[0]?.split(/\W+/)

  const table = (await bench(...sizes, ...off)).stdout
  expect(columns(table)).toEqual(expect.arrayContaining(['h2o_local', 'h2o_heavy']))
  expect(columns(table)).not.toContain('h2o_schedule')
  expect(columns((await bench(...sizes, ...off, '--h2o-schedule', 'two-pass')).stdout)).toContain(
    'h2o_schedule',
  )

  expect(columns(table)).not.toContain('h2o_select')
  expect(columns((await bench(...sizes, ...off, '--h2o-select', 'query')).stdout)).toContain('h2o_select')

  expect(columns((await bench(...sizes, ...off, '-o', 'csv')).stdout)).toEqual(
    expect.arrayContaining(['h2o_schedule', 'h2o_select']),
  )
  const sql = (await bench(...sizes, ...off, '-o', 'sql')).stdout
  expect(sql).toContain('h2o_local INTEGER,\n  h2o_heavy INTEGER,\n  h2o_schedule TEXT,\n  h2o_select TEXT,')
})

test.each([
  ['--h2o-local', '-1'],
  ['--h2o-heavy', 'x'],
  ['--h2o-schedule', 'single-pass,both'],
  ['--h2o-select', 'votes,both'],
])('%s %s is an error', async (option, value) => {
  const { status, stderr } = await run('llama-bench', [option, value])
  expect(status).toBe(1)
  expect(stderr).toContain(`error: invalid parameter for argument: ${option}`)
})
