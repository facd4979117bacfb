import { describe, expect, it } from 'vitest'
import { rewriteArgv } from '../../../src/ts/cli/flags/argv.js'
import { longName } from '../../../src/ts/cli/flags/option.js'
import { runOptions } from '../../../src/ts/cli/flags/options.js'

const rewrite = (line: string) => rewriteArgv(line.split(' '), runOptions)

describe('rewriteArgv', () => {
  it.each([
    ['-ub 1024', '--ubatch-size=1024'],
    ['-ub=1024', '--ubatch-size=1024'],
    ['-ngl 99', '--gpu-layers=99'],
    ['--n-gpu-layers 99', '--gpu-layers=99'],
    ['-fa on', '--flash-attn=on'],
    ['-ctk q8_0 -ctv q8_0', '--cache-type-k=q8_0 --cache-type-v=q8_0'],
    ['-tb 4', '--threads-batch=4'],
    ['--n-predict 5', '--predict=5'],
    ['--temperature 0', '--temp=0'],
    ['--batch_size 4096', '--batch-size=4096'],
    ['--json -v', '--json --verbose'],
  ])('%s', (line, expected) => {
    expect(rewrite(line)).toEqual(expected.split(' '))
  })

  it('takes a value whatever it looks like', () => {
    expect(rewrite('-n -1 -p -ub --seed -1')).toEqual(['--predict=-1', '--prompt=-ub', '--seed=-1'])
    expect(rewriteArgv(['-p', 'a=b --json'], runOptions)).toEqual(['--prompt=a=b --json'])
    expect(rewriteArgv(['-p', ''], runOptions)).toEqual(['--prompt='])
    expect(rewrite('-f -')).toEqual(['--file=-'])
  })

  it('leaves a missing value, unknown long options and operands to commander', () => {
    expect(rewrite('--json -m')).toEqual(['--json', '--model'])
    expect(rewrite('--nope x')).toEqual(['--nope', 'x'])
    expect(rewrite('-m a -- -ub 1')).toEqual(['--model=a', '--', '-ub', '1'])
  })

  it.each([
    ['-temp 0.5', 'did you mean --temp?'],
    ['-ub1024', 'did you mean -ub 1024?'],
    ['-xyz', '--help lists the flags'],
  ])('refuses %s', (line, hint) => {
    expect(() => rewrite(line)).toThrow(expect.objectContaining({ code: 'ERR_CLI_USAGE', hint }))
  })

  it('gives every option a long name, and no spelling to two options', () => {
    const names = runOptions.flatMap((spec) => spec.names)
    expect(new Set(names).size).toBe(names.length)
    for (const spec of runOptions) expect(longName(spec)).toMatch(/^--[a-z]/)
  })
})
