// What a command line of `bench` asks for: lists, contenders, groups of jobs, the argument lists of the programs.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { measurer, nativeArgv, type Setup } from '../../../src/ts/cli/bench/measure.js'
import { type BenchFlags, benchOptions } from '../../../src/ts/cli/bench/options.js'
import { describeJob, planGroups, rotated } from '../../../src/ts/cli/bench/plan.js'
import { integers } from '../../../src/ts/cli/flags/lists.js'
import { parseArgv } from '../../../src/ts/cli/program.js'
import { job } from '../support/bench.js'

const spec = { usage: '', description: '', options: benchOptions, version: '', notes: '' }
const parse = (line: string) => parseArgv<BenchFlags>(line.split(' '), spec).flags as BenchFlags

describe('lists', () => {
  it.each([
    ['512', [512]],
    ['512,1024', [512, 1024]],
    ['512-4096*2', [512, 1024, 2048, 4096]],
    ['1024-2560+512', [1024, 1536, 2048, 2560]],
    ['3-6', [3, 4, 5, 6]],
    ['4096,1024-4096*2', [4096, 1024, 2048]],
    ['100-999*3', [100, 300, 900]],
  ])('%s', (text, values) => expect(integers(1)(text)).toEqual(values))

  it.each([
    '',
    ',',
    '5-',
    '9-5',
    '5-9*1',
    '5-9+0',
    '1-9/2',
    'x',
    '0',
    '1-99999',
    '-5',
  ])('refuses %j', (text) => {
    expect(() => integers(1)(text)).toThrow()
  })

  it('refuses what nothing is a multiple of', () => {
    expect(() => integers(0)('0-9*2')).toThrow('is no range')
    expect(integers(0)('0-2')).toEqual([0, 1, 2])
  })
})

describe('flags', () => {
  it("have llama-bench's names and llama.cpp's sizes", () => {
    expect(parse('-r 5')).toMatchObject({
      repetitions: 5,
      nPrompt: [2048, 4096, 8192],
      nGen: 128,
      batchSize: [2048],
      ubatchSize: [512],
      stockUbatchSize: [512, 1024],
      flashAttn: 'auto',
      output: 'md',
      warmup: true,
      prune: 1.25,
    })
    const flags = parse('-p 1024-4096*2 -b 4096 -ub 512,1024 -t 1,2 -o jsonl -fa off --no-warmup -ctk q8_0')
    expect(flags).toMatchObject({
      nPrompt: [1024, 2048, 4096],
      ubatchSize: [512, 1024],
      threads: [1, 2],
      output: 'jsonl',
      flashAttn: 'off',
      warmup: false,
      cacheTypeK: 'q8_0',
    })
  })

  it('name contenders', () => {
    const names = (line: string) => parse(line).contenders?.map(({ name }) => name)
    expect(names('--contenders h2o,stock,h2o')).toEqual(['h2o', 'stock-fa-on', 'stock-fa-off'])
    expect(names('-r 1')).toBeUndefined()
    expect(() => parse('--contenders fast')).toThrow(/'fast' is none of stock, stock-fa-on/)
  })

  it.each(['-p x', '-r 0', '-o sql', '--prune -1', '-b 0'])('refuse %s', (line) => {
    expect(() => parse(line)).toThrow(expect.objectContaining({ code: 'ERR_CLI_USAGE' }))
  })
})

describe('planGroups', () => {
  it('puts together what is compared, and measures what comes to the same once', () => {
    const groups = planGroups(parse('-p 1000,2000 -t 1,2 -b 768 -ub 256 --contenders stock,h2o'))
    expect(groups.map(({ nPrompt, nThreads }) => [nPrompt, nThreads])).toEqual([
      [1000, 1],
      [2000, 1],
      [1000, 2],
      [2000, 2],
    ])
    expect(groups[0]?.jobs.map(describeJob)).toEqual([
      'stock-fa-on -b 768 -ub 512',
      'stock-fa-on -b 768 -ub 768',
      'stock-fa-off -b 768 -ub 512',
      'stock-fa-off -b 768 -ub 768',
      'h2o -b 768 -ub 256',
    ])
    expect(groups[0]?.jobs.map(({ flashAttn }) => flashAttn)).toEqual(['on', 'on', 'off', 'off', 'auto'])
  })

  it('has five contenders unless others are asked for', () => {
    const names = planGroups(parse('-p 1000'))[0]?.jobs.map(({ contender }) => contender.name)
    expect([...new Set(names)]).toEqual(['stock-fa-on', 'stock-fa-off', 'dense', 'h2o', 'h2o-query'])
  })
})

it('rotates, so that no contender always follows the same one', () => {
  expect([0, 1, 2, 3].map((i) => rotated(['a', 'b', 'c'], i).join(''))).toEqual(['abc', 'bca', 'cab', 'abc'])
  expect(rotated([], 1)).toEqual([])
})

describe('the argument list of a native program', () => {
  const setup: Setup = {
    model: { path: 'M' },
    tokens: 'T',
    stock: 's',
    native: 'n',
    warmup: true,
    typeK: 'f16',
    typeV: 'q8_0',
    denseTail: 0,
  }

  it('of stock', () => {
    const argv = nativeArgv(setup, job('stock-fa-on', 512, 4097)).join(' ')
    expect(argv).toBe(
      'M T -n 4097 -c 4352 -b 2048 -ub 512 -t 2 -fa on -ctk f16 -ctv q8_0 -ngl -1 -w 32 --predict 1',
    )
  })

  it('of H2O: with the calls of the addon', () => {
    const argv = nativeArgv(setup, { ...job('h2o', 512, 4097), nBatch: 2100 }).join(' ')
    expect(argv).toContain('-b 2048 ')
    expect(argv).toContain('--calls 2048,1536,513 --h2o-schedule single-pass --h2o-select votes')
    expect(nativeArgv(setup, job('h2o-query')).slice(-2)).toEqual(['--h2o-select', 'query'])
    const answering = nativeArgv({ ...setup, decode: 'auto' }, job('h2o', 512, 4097, 256)).join(' ')
    expect(answering).toContain('-c 4352 ') // 255 of the 256 tokens are decoded
    expect(answering).toContain('--predict 256')
    expect(answering).toContain('--h2o-decode auto')
  })

  it.skipIf(process.platform === 'win32')('tells of a program that is another one', async () => {
    const other = (program: string) =>
      measurer({ ...setup, stock: program }).measure(job('stock-fa-on'), new AbortController().signal)
    const hint = '--stock names the program that npm run bench:stock makes'
    const printer = join(mkdtempSync(join(tmpdir(), 'h2o-other-')), 'stock-bench')
    writeFileSync(printer, '#!/bin/sh\necho "{\\"version\\": 1}"\n', { mode: 0o755 })
    await expect(other(printer)).rejects.toMatchObject({ message: `${printer} prints no measurement`, hint })
    writeFileSync(printer, '#!/bin/sh\necho null\n')
    await expect(other(printer)).rejects.toMatchObject({ name: 'ChildError' })
  })
})
