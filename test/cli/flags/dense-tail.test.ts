// --h2o-dense-tail: one number to a run, a list to a comparison, whose members cut their prompts alike.
import { expect, it } from 'vitest'
import { compare } from '../../../src/ts/cli/commands/compare.js'
import { describeRow } from '../../../src/ts/cli/compare/describe.js'
import { compareOptions } from '../../../src/ts/cli/compare/options.js'
import { settingGroups } from '../../../src/ts/cli/compare/settings.js'
import { callsOf } from '../../../src/ts/cli/compare/walk.js'
import { contextOptions } from '../../../src/ts/cli/flags/flags.js'
import { runOptions } from '../../../src/ts/cli/flags/options.js'
import { parseArgv } from '../../../src/ts/cli/program.js'
import type { Model } from '../../../src/ts/index.js'
import { CYCLE, compareApi } from '../support/compare-api.js'
import { memoryIo } from '../support/memory-io.js'

const common = { usage: '', description: '', version: '', notes: '' }
const words = (line: string) => line.split(' ').filter(Boolean)
const parseRun = (line: string) => parseArgv<never>(words(line), { ...common, options: runOptions }).flags
const parseCompare = (line: string) =>
  parseArgv<never>(words(line), { ...common, options: compareOptions }).flags as never

it.each([
  ['', { schedule: 'single-pass' }],
  ['--h2o-dense-tail 32', { schedule: 'single-pass', denseTail: 32 }],
  ['--h2o-dense-tail 32 --no-h2o', false],
])('run %s', (line, h2o) => {
  const model = { nCtxTrain: 4096 } as Model
  expect(contextOptions(parseRun(line) as never, model, 100, () => {}).h2o).toEqual(h2o)
})

it('both commands refuse what is no count', () => {
  for (const value of ['-3', '1.5', 'x']) {
    const usage = expect.objectContaining({ code: 'ERR_CLI_USAGE' })
    expect(() => parseRun(`--h2o-dense-tail ${value}`)).toThrow(usage)
    expect(() => parseCompare(`--h2o-dense-tail ${value}`)).toThrow(usage)
  }
})

it('compare has a group for each, whose members cut a prompt alike', () => {
  const groups = settingGroups(parseCompare('-ub 256,512 --h2o-dense-tail 0,32 --h2o-heavy 8,16'))
  expect(
    groups.map((group) => group.map(({ nUbatch, denseTail, heavy }) => [nUbatch, denseTail, heavy])),
  ).toEqual([256, 512].flatMap((S) => [0, 32].map((tail) => [8, 16].map((heavy) => [S, tail, heavy]))))
  const layout = { nWindows: 1, nWindow: 800, nPrompt: 700, nContinuation: 100, first: 0 }
  expect(callsOf(layout, [{ nBatch: 300, nUbatch: 100 }], 150).map(({ n }) => n)).toEqual([
    300, 250, 100, 50, 99,
  ])
})

it('compare walks each group with its tail, and reports it', async () => {
  const { api, log } = compareApi({ sparse: 0.4, dense: 0.5, after: 0.5 })
  const io = memoryIo()
  const flags = parseCompare('-m M -c 40 -n 4 -ub 8 --h2o-local 2 --h2o-heavy 2 --h2o-dense-tail 0,11 --json')
  const code = await compare({ ...(flags as object), prompt: CYCLE.repeat(10) } as never, io, api)
  expect(code, io.stderr.text).toBe(0)
  const { rows } = JSON.parse(io.stdout.text)
  expect(rows.map(({ h2o }: { h2o: object }) => h2o)).toEqual([
    { local: 2, heavy: 2, dense_tail: 0 },
    { local: 2, heavy: 2, dense_tail: 11 },
  ])
  expect(rows.map(({ sparse_n }: { sparse_n: number }) => sparse_n)).toEqual([36, 25])
  const callsOfContext = (i: number) => log.calls.filter((c) => c.context === i).map(({ n }) => n)
  expect(callsOfContext(2)).toEqual([16, 9, 8, 3, 3])
  expect(callsOfContext(3)).toEqual(callsOfContext(2))
  expect(describeRow(rows[0])).toBe('single-pass votes -b 24 -ub 8 L=2 H=2')
  expect(describeRow(rows[1])).toBe('single-pass votes -b 24 -ub 8 L=2 H=2 dense-tail=11')
})
