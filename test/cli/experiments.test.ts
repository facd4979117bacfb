// The flags of the experiments: one table for two commands, what they become, and what is said of them.
import { describe, expect, it } from 'vitest'
import { describeRow } from '../../src/ts/cli/compare/describe.js'
import { compareOptions } from '../../src/ts/cli/compare/options.js'
import { settingGroups } from '../../src/ts/cli/compare/settings.js'
import { callsOf } from '../../src/ts/cli/compare/walk.js'
import { contextOptions } from '../../src/ts/cli/flags.js'
import { toJson } from '../../src/ts/cli/json.js'
import { runOptions } from '../../src/ts/cli/options.js'
import { parseArgv } from '../../src/ts/cli/program.js'
import { prefillLine } from '../../src/ts/cli/summary.js'
import type { Model } from '../../src/ts/index.js'
import { CYCLE, compareApi } from './support/compare-api.js'
import { generateSummary, h2oInfo, prefillResult } from './support/fake-api.js'
import { memoryIo } from './support/memory-io.js'

const common = { usage: '', description: '', version: '', notes: '' }
const words = (line: string) => line.split(' ').filter(Boolean)
const parseRun = (line: string) => parseArgv<never>(words(line), { ...common, options: runOptions }).flags
const parseCompare = (line: string) =>
  parseArgv<never>(words(line), { ...common, options: compareOptions }).flags as never
const usage = (message: RegExp) =>
  expect.objectContaining({ code: 'ERR_CLI_USAGE', message: expect.stringMatching(message) })

const everything =
  '--h2o-sink 4 --h2o-vote-window 64 --h2o-vote-fused --h2o-vote-causal --h2o-vote-mean --h2o-decay 0.9 --h2o-dense-tail 32'

describe('run', () => {
  const h2oOf = (line: string) =>
    contextOptions(parseRun(line) as never, { nCtxTrain: 4096 } as Model, 100, () => {}).h2o

  it('passes what is on, and nothing where nothing is', () => {
    expect(h2oOf(everything)).toEqual({
      schedule: 'single-pass',
      experiments: {
        sink: 4,
        voteWindow: 64,
        voteFused: true,
        voteCausal: true,
        voteMean: true,
        decay: 0.9,
        denseTail: 32,
      },
    })
    const off = '--h2o-sink 0 --h2o-vote-window 0 --h2o-decay 1 --h2o-dense-tail 0'
    for (const line of ['', off]) expect(h2oOf(line)).toEqual({ schedule: 'single-pass' })
    expect(h2oOf(`${everything} --no-h2o`)).toBe(false)
  })

  it('says so in --json and in the last line', () => {
    const experiments = { sink: 4, voteFused: true, denseTail: 32 }
    const context = { nBatch: 12, nUbatch: 4, h2o: { ...h2oInfo, experiments } }
    const summary = generateSummary(prefillResult(), [])
    expect(toJson({ model: 'm', loadMs: 1, context, summary }).h2o).toEqual({
      local: 2,
      heavy: 1,
      experiments: { sink: 4, vote_fused: true, dense_tail: 32 },
    })
    expect(toJson({ model: 'm', loadMs: 1, context: { ...context, h2o: h2oInfo }, summary }).h2o).toEqual({
      local: 2,
      heavy: 1,
    })
    expect(prefillLine(prefillResult(), context)).toContain('L=2 H=1 sink=4 vote-fused dense-tail=32)')
  })
})

it.each([
  ['--h2o-sink -1', /Less than 0/],
  ['--h2o-sink 1.5', /Not a whole number/],
  ['--h2o-vote-window x', /Not a whole number/],
  ['--h2o-decay 0', /Not above 0/],
  ['--h2o-decay 1e-60', /Not above 0/],
  ['--h2o-decay 1.1', /More than 1/],
  ['--h2o-decay -0.1', /Less than 0/],
  ['--h2o-dense-tail -3', /Less than 0/],
])('both commands refuse %s', (line, message) => {
  expect(() => parseRun(line)).toThrow(usage(message))
  expect(() => parseCompare(line)).toThrow(usage(message))
})

it('both commands have the same rows, in a section of their own', () => {
  const rows = (options: typeof runOptions) =>
    options.filter(({ group }) => group.startsWith('Experiments')).map(({ names, help }) => [names, help])
  expect(rows(runOptions)).toHaveLength(7)
  expect(rows(compareOptions)).toEqual(rows(runOptions))
})

describe('compare', () => {
  it('takes lists, and compares every combination', () => {
    const line = '--h2o-heavy 32,64 --h2o-sink 0,4 --h2o-vote-window 0,8 --h2o-decay 1,0.9 --h2o-vote-mean'
    const [settings = [], ...others] = settingGroups(parseCompare(line))
    expect(others).toEqual([])
    expect(settings).toHaveLength(16)
    expect(settings[0]?.experiments).toEqual({ voteMean: true })
    expect(settings.slice(0, 8).map(({ heavy }) => heavy)).toEqual(Array(8).fill(32))
    expect(settings[15]).toMatchObject({
      heavy: 64,
      experiments: { sink: 4, voteWindow: 8, decay: 0.9, voteMean: true },
    })
  })

  it('has a group for each dense tail, whose members cut a prompt alike', () => {
    const groups = settingGroups(parseCompare('-ub 256,512 --h2o-dense-tail 0,32 --h2o-sink 0,4'))
    expect(
      groups.map((settings) => settings.map(({ nUbatch, experiments }) => [nUbatch, experiments])),
    ).toEqual(
      [256, 512].flatMap((nUbatch) => [
        [
          [nUbatch, undefined],
          [nUbatch, { sink: 4 }],
        ],
        [
          [nUbatch, { denseTail: 32 }],
          [nUbatch, { denseTail: 32, sink: 4 }],
        ],
      ]),
    )
    const layout = { nWindows: 1, nWindow: 800, nPrompt: 700, nContinuation: 100, first: 0 }
    const sizes = [{ nBatch: 300, nUbatch: 100 }]
    expect(callsOf(layout, sizes, 150).map(({ n }) => n)).toEqual([300, 250, 100, 50, 99])
  })

  it('refuses vote-fused with two-pass', () => {
    const line = '--h2o-vote-fused --h2o-schedule single-pass,two-pass'
    expect(() => settingGroups(parseCompare(line))).toThrow(usage(/does not go with two-pass/))
    expect(settingGroups(parseCompare('--h2o-vote-fused'))[0]).toHaveLength(1)
  })

  it('describes a setting with its experiments', () => {
    const head = { schedule: 'single-pass' as const, n_batch: 12, n_ubatch: 4, h2o: { local: 2, heavy: 1 } }
    expect(describeRow(head)).toBe('single-pass -b 12 -ub 4 L=2 H=1')
    const experiments = { vote_window: 8, vote_fused: true, decay: 0.9 }
    expect(describeRow({ ...head, h2o: { ...head.h2o, experiments } })).toBe(
      'single-pass -b 12 -ub 4 L=2 H=1 vote-window=8 vote-fused decay=0.9',
    )
  })

  it('walks each group with its tail, and reports it', async () => {
    const { compare } = await import('../../src/ts/cli/commands/compare.js')
    const { api, log } = compareApi({ sparse: 0.4, dense: 0.5, after: 0.5 })
    const io = memoryIo()
    const line = '-m M -c 40 -n 4 -ub 8 --h2o-local 2 --h2o-heavy 2 --h2o-dense-tail 0,11 --h2o-sink 1 --json'
    const flags = parseCompare(line) as object
    const code = await compare({ ...flags, prompt: CYCLE.repeat(10) } as never, io, api)
    expect(code, io.stderr.text).toBe(0)
    const { rows } = JSON.parse(io.stdout.text)
    expect(rows.map(({ h2o }: { h2o: object }) => h2o)).toEqual([
      { local: 2, heavy: 2, experiments: { sink: 1 } },
      { local: 2, heavy: 2, experiments: { sink: 1, dense_tail: 11 } },
    ])
    expect(rows.map(({ sparse_n }: { sparse_n: number }) => sparse_n)).toEqual([36, 25])
    const callsOfContext = (i: number) => log.calls.filter((c) => c.context === i).map(({ n }) => n)
    expect(callsOfContext(2)).toEqual([16, 9, 8, 3, 3])
    expect(callsOfContext(3)).toEqual(callsOfContext(2))
  })
})
