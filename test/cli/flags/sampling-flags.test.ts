import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { generateOptions } from '../../../src/ts/cli/flags/flags.js'
import { type RunFlags, runOptions } from '../../../src/ts/cli/flags/options.js'
import { constraintOf } from '../../../src/ts/cli/flags/sampling-flags.js'
import { parseArgv } from '../../../src/ts/cli/program.js'

const spec = { usage: '', description: '', options: runOptions, version: '', notes: '' }
const flagsOf = (...argv: string[]) => parseArgv<RunFlags>(argv, spec).flags as RunFlags
const optionsOf = (...argv: string[]) => generateOptions(flagsOf(...argv))

describe('sampling flags', () => {
  it.each<[string, object]>([
    ['--repeat-penalty 1.1 --repeat-last-n 0', { repeatPenalty: 1.1, repeatLastN: 0 }],
    ['--presence-penalty -0.5 --frequency-penalty 1', { presencePenalty: -0.5, frequencyPenalty: 1 }],
    [
      '--dry-multiplier 0.8 --dry-base 2 --dry-allowed-length 4',
      { dryMultiplier: 0.8, dryBase: 2, dryAllowedLength: 4 },
    ],
    ['--dry-penalty-last-n 9', { dryPenaltyLastN: 9 }],
    ['--dry-sequence-breaker a --dry-sequence-breaker \\n', { drySequenceBreakers: ['a', '\n'] }],
    ['--no-escape --dry-sequence-breaker \\n', { drySequenceBreakers: ['\\n'] }],
    ['--dry-sequence-breaker a --dry-sequence-breaker none', { drySequenceBreakers: [] }],
    ['--spec-type ngram-simple', { specType: 'ngram-simple' }],
    ['--top-nsigma 1.5', { topNSigma: 1.5 }],
    ['--top-n-sigma -7', { topNSigma: -1 }],
    ['--typical 0.5', { typicalP: 0.5 }],
    ['--typical-p 0.25', { typicalP: 0.25 }],
    ['--xtc-probability 0.5 --xtc-threshold 0.2', { xtcProbability: 0.5, xtcThreshold: 0.2 }],
    ['--dynatemp-range 0.5 --dynatemp-exp 2', { dynatempRange: 0.5, dynatempExponent: 2 }],
    ['--mirostat 2 --mirostat-lr 0.2 --mirostat-ent 4', { mirostat: 2, mirostatEta: 0.2, mirostatTau: 4 }],
    ['--adaptive-target 0.5 --adaptive-decay 0.8', { adaptiveTarget: 0.5, adaptiveDecay: 0.8 }],
    ['--samplers top_k;Min-P;temp;nucleus', { samplers: ['top_k', 'min_p', 'temperature', 'top_p'] }],
    ['--sampling-seq kypmt', { samplers: ['top_k', 'typ_p', 'top_p', 'min_p', 'temperature'] }],
    [
      '--sampler-seq edsxia',
      { samplers: ['penalties', 'dry', 'top_n_sigma', 'xtc', 'infill', 'adaptive_p'] },
    ],
    [
      '-l 15+1 --logit-bias 16-2.5 -l 17-inf -l 15+0.5',
      { logitBias: { 15: 1.5, 16: -2.5, 17: Number.NEGATIVE_INFINITY } },
    ],
  ])('%s', (line, expected) => {
    const { nPredict, temperature, topK, topP, minP, seed, stop, ignoreEos, ...rest } = optionsOf(
      ...line.split(' '),
    )
    expect(rest).toEqual(expected)
  })

  it('keeps the default base of DRY for one below 1, as llama.cpp does', () => {
    expect(optionsOf('--dry-base', '0.5')).not.toHaveProperty('dryBase')
  })

  it.each([
    ['--spec-type', 'draft-simple'],
    ['--samplers', 'top_k;nonsense'],
    ['--samplers', 'constructor'],
    ['--sampling-seq', 'kz'],
    ['-l', '15'],
    ['-l', '15*2'],
    ['-l', '-3+1'],
    ['--repeat-last-n', '-1'],
    ['--repeat-penalty', '0'],
    ['--mirostat', '3'],
  ])('refuses %s %s', (name, value) => {
    expect(() => flagsOf(name, value)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/USAGE|ARGUMENT/) }),
    )
  })
})

describe('a grammar or a schema', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'h2o-grammar-'))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'file')
  await writeFile(file, 'root ::= "ä"\n')

  it('comes from the command line or a file', async () => {
    expect(await constraintOf(flagsOf())).toEqual({})
    expect(await constraintOf(flagsOf('--grammar', 'root ::= "a"'))).toEqual({ grammar: 'root ::= "a"' })
    expect(await constraintOf(flagsOf('--grammar-file', file))).toEqual({ grammar: 'root ::= "ä"\n' })
    expect(await constraintOf(flagsOf('-j', '{}'))).toEqual({ jsonSchema: '{}' })
    expect(await constraintOf(flagsOf('-jf', file))).toEqual({ jsonSchema: 'root ::= "ä"\n' })
  })

  it('is one, and a file that is there', async () => {
    for (const argv of [
      ['-j', '{}', '--grammar', ''],
      ['--grammar-file', join(folder, 'nothing')],
      ['-jf', folder],
    ]) {
      await expect(constraintOf(flagsOf(...argv))).rejects.toMatchObject({ code: 'ERR_CLI_USAGE' })
    }
  })
})
