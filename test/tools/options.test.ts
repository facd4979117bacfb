// --h2o-local, --h2o-heavy, --h2o-schedule and --h2o-select in llama.cpp's own tools: help, values, environment, and
// the line at start.

import { expect, test } from 'vitest'
import { h2oLines, modelFile, run, type Tool } from './support.js'

const OFF = ['--h2o-local', '0', '--h2o-heavy', '0']
const HINT = `(${OFF.join(' ')} turns it off)`

const completion = (...args: string[]) => ['-p', 'hi', '-n', '1', '-no-cnv', '--no-warmup', ...args]

test.each<Tool>(['llama-completion', 'llama-perplexity', 'llama-bench'])('%s --help', async (tool) => {
  const { status, stdout } = await run(tool, ['--help'])
  expect(status).toBe(0)
  expect(stdout).toMatch(/--h2o-local[\s\S]*?\(default:\s+128,\s+256\s+with\s+votes/)
  expect(stdout).toMatch(/--h2o-heavy[\s\S]*?\(default:\s+640,\s+256\s+with\s+votes/)
  expect(stdout).toMatch(/--h2o-schedule[\s\S]*?\(default: single-pass\)/)
  expect(stdout).toMatch(/--h2o-select[\s\S]*?\(default: query, votes with two-pass\)/)
})

test.each([
  ['--h2o-local', '-1', 'expected a number of positions'],
  ['--h2o-heavy', '12x', 'expected a number of positions'],
  ['--h2o-heavy', '', 'expected a number of positions'],
  ['--h2o-heavy', '4294967296', 'expected a number of positions'],
  ['--h2o-dense-tail', '-1', 'expected a number of positions'],
  ['--h2o-schedule', 'both', "expected 'single-pass' or 'two-pass', got 'both'"],
  ['--h2o-select', 'best', "expected one of query, votes, got 'best'"],
])('%s %j is an error', async (option, value, message) => {
  const { status, stderr } = await run('llama-completion', ['-m', 'none.gguf', ...completion(option, value)])
  expect(status).toBe(1)
  expect(stderr).toContain(`error while handling argument "${option}": ${message}`)
})

test('the line at start names what applies and how to turn it off', async () => {
  const model = ['-m', await modelFile()]

  expect(h2oLines(await run('llama-completion', [...model, ...completion()]))).toEqual([
    `h2o: prompts of more than 512 tokens (-ub) are prefilled sparsely: local = 128, heavy = 640, schedule = single-pass, select = query ${HINT}`,
  ])

  const asked = ['-ub', '64', '--h2o-local', '7', '--h2o-heavy', '3', '--h2o-schedule', 'two-pass']
  expect(h2oLines(await run('llama-completion', [...model, ...completion(...asked)]))).toEqual([
    `h2o: prompts of more than 64 tokens (-ub) are prefilled sparsely: local = 7, heavy = 3, schedule = two-pass, select = votes ${HINT}`,
  ])

  const byQuery = ['-ub', '64', '--h2o-local', '7', '--h2o-heavy', '3', '--h2o-select', 'query']
  expect(h2oLines(await run('llama-completion', [...model, ...completion(...byQuery)]))[0]).toContain(
    'schedule = single-pass, select = query',
  )

  expect(
    h2oLines(await run('llama-completion', [...model, ...completion('--h2o-select', 'votes')]))[0],
  ).toContain('local = 256, heavy = 255, schedule = single-pass, select = votes')

  expect(h2oLines(await run('llama-completion', [...model, ...completion(...OFF)]))).toEqual([])
})

test('the environment gives defaults, in the way of the other options', async () => {
  const model = ['-m', await modelFile()]
  const env = { LLAMA_ARG_H2O_LOCAL: '40', LLAMA_ARG_H2O_HEAVY: '30', LLAMA_ARG_H2O_SELECT: 'query' }

  const [line] = h2oLines(await run('llama-completion', [...model, ...completion('--h2o-heavy', '20')], env))
  expect(line).toContain('local = 40, heavy = 20, schedule = single-pass, select = query')

  const bad = await run('llama-completion', [...model, ...completion()], { LLAMA_ARG_H2O_LOCAL: 'many' })
  expect(bad.status).toBe(1)
  expect(bad.stderr).toContain('error while handling environment variable "LLAMA_ARG_H2O_LOCAL"')
})

test('a context that cannot be sparse says why', async () => {
  const why = async (spec: Parameters<typeof modelFile>[0], ...args: string[]) =>
    h2oLines(await run('llama-completion', ['-m', await modelFile(spec), ...completion(...args)]))

  const line = (reason: string) =>
    `h2o: asked for (local = 128, heavy = 640), but no prompt of this context can be sparse: ${reason} ${HINT}`
  expect(await why({ arch: 'qwen3' }, '-b', '512')).toEqual([line('batch-too-small')])
  expect(await why({ arch: 'qwen3' }, '--h2o-select', 'query', '--h2o-schedule', 'two-pass')).toEqual([
    line('unsupported-schedule'),
  ])
  expect((await why({ arch: 'mpt' }))[0]).toBe(line('unsupported-attention'))
})
