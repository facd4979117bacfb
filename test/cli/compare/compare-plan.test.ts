// What `compare` is asked for: settings, windows, calls; and what it refuses.
import { describe, expect, it } from 'vitest'
import { type LayoutRequest, layOut } from '../../../src/ts/cli/compare/layout.js'
import { type CompareFlags, compareOptions } from '../../../src/ts/cli/compare/options.js'
import { settingGroups } from '../../../src/ts/cli/compare/settings.js'
import { callsOf } from '../../../src/ts/cli/compare/walk.js'
import { parseArgv } from '../../../src/ts/cli/program.js'

const spec = { usage: '', description: '', options: compareOptions, version: '', notes: '' }
const parse = (line = '') =>
  parseArgv<CompareFlags>(line.split(' ').filter(Boolean), spec).flags as CompareFlags
const usage = (message: RegExp) =>
  expect.objectContaining({ code: 'ERR_CLI_USAGE', message: expect.stringMatching(message) })

describe('options', () => {
  it('has defaults', () => {
    expect(parse()).toEqual({
      continuation: 256,
      chunks: -1,
      ubatchSize: [512],
      gpuLayers: 'auto',
      flashAttn: 'auto',
      cacheTypeK: 'f16',
      cacheTypeV: 'f16',
      mmap: true,
      h2oSchedule: ['single-pass'],
      h2oDenseTail: [0],
    })
  })

  it('takes lists', () => {
    const flags = parse(
      '-ub 256,512 --h2o-local 64-256*2 --h2o-heavy 0 --h2o-schedule two-pass,single-pass --h2o-select query,votes',
    )
    expect(flags).toMatchObject({
      ubatchSize: [256, 512],
      h2oLocal: [64, 128, 256],
      h2oHeavy: [0],
      h2oSchedule: ['two-pass', 'single-pass'],
      h2oSelect: ['query', 'votes'],
    })
  })

  it.each([
    ['--max-kld -1', /Less than 0/],
    ['--min-top1 101', /More than 100/],
    ['--max-ppl-ratio low', /Not a number/],
    ['--h2o-schedule other', /none of single-pass, two-pass/],
    ['--h2o-select other', /none of query, votes/],
    ['-ub 0', /Less than 1/],
  ])('refuses %s', (line, message) => {
    expect(() => parse(line)).toThrow(usage(message))
  })
})

describe('settingGroups', () => {
  it('has every combination, by physical batch', () => {
    const groups = settingGroups(
      parse('-ub 256,512 --h2o-local 64,128 --h2o-heavy 32 --h2o-schedule single-pass,two-pass'),
    )
    expect(groups.map((settings) => settings.length)).toEqual([4, 4])
    expect(groups[1]?.[3]).toEqual({
      schedule: 'two-pass',
      select: undefined,
      nBatch: 1536,
      nUbatch: 512,
      local: 128,
      heavy: 32,
      denseTail: 0,
    })
  })

  it('leaves the budget to the API where none was given', () => {
    expect(settingGroups(parse('-b 4096'))).toEqual([
      [
        {
          schedule: 'single-pass',
          select: undefined,
          nBatch: 4096,
          nUbatch: 512,
          local: undefined,
          heavy: undefined,
          denseTail: 0,
        },
      ],
    ])
  })

  it('has every selection', () => {
    const [settings] = settingGroups(parse('--h2o-select votes,query --h2o-heavy 32,64'))
    expect(settings?.map(({ select, heavy }) => [select, heavy])).toEqual([
      ['votes', 32],
      ['votes', 64],
      ['query', 32],
      ['query', 64],
    ])
  })

  it('refuses two-pass by query', () => {
    const line = '--h2o-schedule single-pass,two-pass --h2o-select query'
    expect(() => settingGroups(parse(line))).toThrow(usage(/query has no two-pass/))
  })

  it('refuses calls of no more than a chunk', () => {
    expect(() => settingGroups(parse('-b 512'))).toThrow(usage(/-b 512 is not above -ub 512/))
  })
})

const request: LayoutRequest = {
  nTokens: 20000,
  nCtxTrain: 32768,
  chunk: 512,
  ctxSize: undefined,
  continuation: 256,
  chunks: -1,
  skip: undefined,
}

describe('layOut', () => {
  it.each([
    [{}, { nWindows: 2, nWindow: 8192, nPrompt: 7936, nContinuation: 256, first: 512 }],
    [{ nTokens: 3000 }, { nWindows: 1, nWindow: 3000, nPrompt: 2744 }],
    [{ nCtxTrain: 4096 }, { nWindows: 4, nWindow: 4096 }],
    [{ nCtxTrain: 0 }, { nWindow: 8192 }],
    [{ ctxSize: 1000 }, { nWindows: 20, nWindow: 1000, nPrompt: 744 }],
    [{ ctxSize: 1000, chunks: 3 }, { nWindows: 3 }],
    [
      { ctxSize: 0, nCtxTrain: 10000 },
      { nWindows: 2, nWindow: 10000 },
    ],
    [
      { ctxSize: 1000, continuation: 0, skip: 0 },
      { nPrompt: 1000, nContinuation: 0, first: 0 },
    ],
  ])('%j', (changes, expected) => {
    expect(layOut({ ...request, ...changes })).toMatchObject(expected)
  })

  it.each([
    [
      { nTokens: 700 },
      /the text has 700 tokens, too few for a prompt of more than one chunk \(-ub 512\) and .* \(-n 256\)/,
    ],
    [{ ctxSize: 768 }, /a window of 768 tokens is too small/],
    [{ ctxSize: 300, continuation: 400 }, /a window of 300 tokens is too small/],
    [{ ctxSize: 4096, nTokens: 4095 }, /the text has 4095 tokens, fewer than one window of 4096/],
    [{ ctxSize: 1000, skip: 744 }, /--skip 744 leaves nothing of a prompt of 744/],
    [{ ctxSize: 1000, continuation: 0, skip: 999 }, /--skip 999 leaves nothing/],
    [{ chunks: 0 }, /--chunks 0/],
    [{ ctxSize: 0, nCtxTrain: 0 }, /no training context/],
  ])('refuses %j', (changes, message) => {
    expect(() => layOut({ ...request, ...changes })).toThrow(usage(message))
  })
})

describe('callsOf', () => {
  const layout = { nWindows: 1, nWindow: 1000, nPrompt: 780, nContinuation: 220, first: 100 }
  const sizes = { nBatch: 300, nUbatch: 100 }

  it('cuts the prompt as prefill() does, and feeds the continuation in calls of a chunk', () => {
    // 300 would leave 180, 100 + 80: no tail below a chunk
    expect(callsOf(layout, [sizes])).toEqual([
      { pos: 0, n: 300 },
      { pos: 300, n: 300 },
      { pos: 600, n: 180 },
      { pos: 780, n: 100 },
      { pos: 880, n: 100 },
      { pos: 980, n: 19 },
    ])
  })

  it('serves the smallest of the contexts', () => {
    expect(callsOf(layout, [{ nBatch: 350, nUbatch: 100 }, sizes])).toEqual(callsOf(layout, [sizes]))
  })

  it('ends with the prompt where nothing follows', () => {
    for (const nContinuation of [0, 1]) {
      expect(callsOf({ ...layout, nContinuation }, [sizes]).at(-1)).toEqual({ pos: 600, n: 180 })
    }
  })
})
