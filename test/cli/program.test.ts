import { afterEach, describe, expect, it, vi } from 'vitest'
import type { RunFlags } from '../../src/ts/cli/flags/options.js'
import { runOptions } from '../../src/ts/cli/flags/options.js'
import { parseArgv } from '../../src/ts/cli/program.js'
import { serveOptions } from '../../src/ts/cli/serve/options.js'

const spec = { usage: '', description: '', options: runOptions, version: '1.2.3', notes: 'the end' }
const parse = (...argv: string[]) => parseArgv<RunFlags>(argv, spec)

afterEach(() => vi.unstubAllEnvs())

describe('parseArgv', () => {
  it("has llama.cpp's defaults", () => {
    expect(parse().flags).toEqual({
      batchSize: 2048,
      ubatchSize: 512,
      predict: -1,
      seed: -1,
      temp: 0.8,
      topK: 40,
      topP: 0.95,
      minP: 0.05,
      flashAttn: 'auto',
      cacheTypeK: 'f16',
      cacheTypeV: 'f16',
      gpuLayers: 'auto',
      escape: true,
      mmap: true,
      h2o: true,
      kvOffload: true,
      h2oSchedule: 'single-pass',
    })
  })

  it('reads the line of the main job', () => {
    const line = '-m M -f T -n 16 -b 4096 -ub 1024 --h2o-local 256 --h2o-heavy 128 --json'
    expect(parse(...line.split(' ')).flags).toMatchObject({
      model: 'M',
      file: 'T',
      predict: 16,
      batchSize: 4096,
      ubatchSize: 1024,
      h2oLocal: 256,
      h2oHeavy: 128,
      json: true,
    })
  })

  it('knows the switches', () => {
    const flags = parse(
      '--no-h2o',
      '--no-mmap',
      '--no-escape',
      '--mlock',
      '--ignore-eos',
      '-v',
      '-fa',
      '1',
    ).flags
    expect(flags).toMatchObject({
      h2o: false,
      mmap: false,
      escape: false,
      mlock: true,
      ignoreEos: true,
      verbose: true,
      flashAttn: 'on',
    })
  })

  it.each([
    [['-b', '0'], /-b|batch-size.*Less than 1/],
    [['-b', '-5'], /Less than 1/],
    [['-ub', 'many'], /Not a whole number/],
    [['-b', '1.5'], /Not a whole number/],
    [['-c', '99999999999'], /More than/],
    [['--h2o-local', '-1'], /Less than 0/],
    [['--top-p', 'x'], /Not a number/],
    [['--top-p', '1.5'], /More than 1/],
    [['-ctk', 'q3'], /One of f32/],
    [['-fa', 'maybe'], /One of on, off, auto/],
    [['-fa', 'constructor'], /One of on, off, auto/],
    [['--h2o-schedule', 'other'], /single-pass/],
    [['--nope'], /unknown option '--nope'/],
    [['-m'], /argument missing/],
    [['operand'], /too many arguments/],
    [['--json=yes'], /./],
  ])('refuses %j', (argv, message) => {
    expect(() => parse(...argv)).toThrow(
      expect.objectContaining({ code: 'ERR_CLI_USAGE', message: expect.stringMatching(message) }),
    )
  })

  it('suggests what may have been meant', () => {
    expect(() => parse('--jsn')).toThrow(expect.objectContaining({ hint: 'did you mean --json?' }))
  })

  it('says where the flags are listed', () => {
    for (const name of ['--frobnicate', '-xyz'])
      expect(() => parse(name)).toThrow(expect.objectContaining({ hint: '--help lists the flags' }))
  })

  it('says where a value goes that stands alone', () => {
    expect(() => parse('hello')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('-p TEXT') }),
    )
  })

  it('lists --help with what has an effect', () => {
    const { text } = parseArgv(['--help'], { ...spec, options: serveOptions })
    const [, last] = text.split('\nOutput:\n')
    expect(last).toMatch(/^ {2}-v, [\s\S]*\n {2}-h, --help/)
  })

  it("honours llama.cpp's environment variables, below the command line", () => {
    vi.stubEnv('LLAMA_ARG_MODEL', 'from-env.gguf')
    vi.stubEnv('LLAMA_ARG_BATCH', '1024')
    expect(parse('-b', '4096').flags).toMatchObject({ model: 'from-env.gguf', batchSize: 4096 })
    vi.stubEnv('LLAMA_ARG_UBATCH', 'x')
    expect(() => parse()).toThrow(/LLAMA_ARG_UBATCH/)
  })

  it.each(['0', 'off', 'false', 'disabled'])('switches off where the environment says %s', (value) => {
    for (const name of ['LLAMA_ARG_SWA_FULL', 'LLAMA_ARG_KV_OFFLOAD']) vi.stubEnv(name, value)
    expect(parse().flags).toMatchObject({ swaFull: false, kvOffload: false })
    expect(parse('--swa-full', '--kv-offload').flags).toMatchObject({ swaFull: true, kvOffload: true })
    for (const name of ['LLAMA_ARG_SWA_FULL', 'LLAMA_ARG_KV_OFFLOAD']) vi.stubEnv(name, '1')
    expect(parse().flags).toMatchObject({ swaFull: true, kvOffload: true })
  })

  it('answers --help with every spelling and --version with the version', () => {
    const help = parse('--help')
    expect(help.flags).toBeUndefined()
    for (const name of runOptions.flatMap((o) => o.names)) expect(help.text).toContain(name)
    expect(help.text).toContain('the end')
    expect(parse('--version')).toMatchObject({ flags: undefined, text: '1.2.3\n' })
  })
})

it('takes switches of other scripts and names them, but not where they are values', () => {
  const spec = { usage: '', description: '', options: runOptions, version: '0', notes: '' }
  const parsed = parseArgv<{ prompt: string; reversePrompt: string[] }>(
    ['--no-warmup', '-st', '-p', '--jinja', '-r', 'User:', '-r', 'END'],
    spec,
  )
  expect(parsed.withoutEffect).toEqual(['--no-warmup', '--single-turn'])
  expect(parsed.flags).toMatchObject({ prompt: '--jinja', reversePrompt: ['User:', 'END'] })
})
