// Flags of sampling beyond the common ones: llama.cpp's names and meanings (common/arg.cpp). A default is the
// library's, so what was not given stays out.
import { readFile } from 'node:fs/promises'
import { InvalidArgumentError } from 'commander'
import type { LogitBias, SamplerName, SamplingOptions } from '../index.js'
import { samplerOrder, samplersOfLetters } from '../samplers.js'
import { processEscapes } from './escapes.js'
import type { OptionSpec } from './options.js'
import { integer, number, type Parser } from './parsers.js'
import { UsageError } from './usage-error.js'

export interface SamplingFlags {
  samplers?: SamplerName[]
  samplerSeq?: SamplerName[]
  topNsigma?: number
  xtcProbability?: number
  xtcThreshold?: number
  typical?: number
  repeatLastN?: number
  repeatPenalty?: number
  presencePenalty?: number
  frequencyPenalty?: number
  dryMultiplier?: number
  dryBase?: number
  dryAllowedLength?: number
  dryPenaltyLastN?: number
  drySequenceBreaker?: string[]
  adaptiveTarget?: number
  adaptiveDecay?: number
  dynatempRange?: number
  dynatempExp?: number
  mirostat?: number
  mirostatLr?: number
  mirostatEnt?: number
  logitBias?: [number, number][]
  grammar?: string
  grammarFile?: string
  jsonSchema?: string
  jsonSchemaFile?: string
}

/** 15043+1, 15043-1, 15043-inf */
const bias: Parser<[number, number]> = (text) => {
  const match = /^\s*(\d+)\s*([+-])\s*([\d.e+-]+|inf)$/i.exec(text)
  const size = /^inf$/i.test(match?.[3] ?? '') ? Number.POSITIVE_INFINITY : Number(match?.[3])
  if (!match || Number.isNaN(size)) {
    throw new InvalidArgumentError('A token id, + or - and a number are expected: 15043+1, 15043-inf.')
  }
  return [Number(match[1]), match[2] === '-' ? -size : size]
}

const any = number(-1e6, 1e6)
const share = number(0, 1)

// biome-ignore format: a table
const rows: readonly Omit<OptionSpec, 'group'>[] = [
  { names: ['--samplers'], value: 'NAMES', parse: (text: string) => samplerOrder(text.split(';').filter(Boolean)),
    help: 'which samplers run, in this order (default: penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature)' },
  { names: ['--sampler-seq', '--sampling-seq'], value: 'LETTERS', parse: samplersOfLetters, help: 'the same in letters (default: edskypmxt)' },
  { names: ['--repeat-last-n'], value: 'N', parse: integer(0), help: 'tokens that the penalties look back (default: 64)' },
  { names: ['--repeat-penalty'], value: 'N', env: 'LLAMA_ARG_REPEAT_PENALTY', parse: number(1e-6, 1e6), help: 'penalty of tokens that came (default: 1, none)' },
  { names: ['--presence-penalty'], value: 'N', env: 'LLAMA_ARG_PRESENCE_PENALTY', parse: any, help: 'taken off the logit of a token that came (default: 0)' },
  { names: ['--frequency-penalty'], value: 'N', env: 'LLAMA_ARG_FREQUENCY_PENALTY', parse: any, help: 'the same, for every time (default: 0)' },
  { names: ['--dry-multiplier'], value: 'N', parse: number(0, 1e6), help: 'DRY: penalty of what would go on with a repetition (default: 0, none)' },
  { names: ['--dry-base'], value: 'N', parse: any, help: 'DRY: growth per token of the repetition (default: 1.75)' },
  { names: ['--dry-allowed-length'], value: 'N', parse: integer(0), help: 'DRY: repetitions up to this length are free (default: 2)' },
  { names: ['--dry-penalty-last-n'], value: 'N', parse: integer(0), help: 'DRY: tokens that it looks back (default: 64)' },
  { names: ['--dry-sequence-breaker'], value: 'TEXT', several: true, help: "DRY: no repetition goes across it, in place of newline : \" *; 'none' for none" },
  { names: ['--top-nsigma', '--top-n-sigma'], value: 'N', parse: any, help: 'sample within N standard deviations of the largest logit (default: -1, all)' },
  { names: ['--typical', '--typical-p'], value: 'P', parse: share, help: 'locally typical sampling (default: 1, all)' },
  { names: ['--xtc-probability'], value: 'P', parse: share, help: 'how often XTC leaves out the likeliest tokens (default: 0)' },
  { names: ['--xtc-threshold'], value: 'P', parse: share, help: 'XTC: from this probability on (default: 0.1)' },
  { names: ['--dynatemp-range'], value: 'N', parse: number(0, 1e6), help: 'the temperature moves by up to N (default: 0)' },
  { names: ['--dynatemp-exp'], value: 'N', parse: number(0, 1e6), help: 'how the entropy becomes a temperature (default: 1)' },
  { names: ['--mirostat'], value: 'N', parse: integer(0, 2), help: '1 or 2: Mirostat in place of all samplers but temperature (default: 0)' },
  { names: ['--mirostat-lr'], value: 'N', parse: number(0, 1e6), help: 'Mirostat: learning rate (default: 0.1)' },
  { names: ['--mirostat-ent'], value: 'N', parse: number(0, 1e6), help: 'Mirostat: the surprise that it aims at (default: 5)' },
  { names: ['--adaptive-target'], value: 'P', parse: number(-1e6, 1), help: 'with the sampler adaptive_p: tokens near this probability (default: -1, off)' },
  { names: ['--adaptive-decay'], value: 'N', parse: number(0, 0.99), help: 'how slowly it forgets (default: 0.9)' },
  { names: ['-l', '--logit-bias'], value: 'TOKEN(+/-)BIAS', several: true, parse: bias, help: 'added to the logit of a token: 15043+1, 15043-inf; may be given several times' },
  { names: ['--grammar'], value: 'GBNF', help: 'what may be said, as a grammar with a rule root' },
  { names: ['--grammar-file'], value: 'FILE', help: 'the same from a file' },
  { names: ['-j', '--json-schema'], value: 'JSON', help: 'what may be said, as a JSON schema' },
  { names: ['-jf', '--json-schema-file'], value: 'FILE', help: 'the same from a file' },
]

export const samplingFlagOptions: readonly OptionSpec[] = rows.map((row) => ({ group: 'Sampling:', ...row }))

/** Everything but grammar and schema. */
export function samplingOptions(flags: SamplingFlags & { escape: boolean }): SamplingOptions {
  const given = {
    samplers: flags.samplers ?? flags.samplerSeq,
    repeatLastN: flags.repeatLastN,
    repeatPenalty: flags.repeatPenalty,
    presencePenalty: flags.presencePenalty,
    frequencyPenalty: flags.frequencyPenalty,
    dryMultiplier: flags.dryMultiplier,
    // llama.cpp keeps its default then
    dryBase: flags.dryBase !== undefined && flags.dryBase < 1 ? undefined : flags.dryBase,
    dryAllowedLength: flags.dryAllowedLength,
    dryPenaltyLastN: flags.dryPenaltyLastN,
    drySequenceBreakers: breakers(flags),
    topNSigma: flags.topNsigma === undefined ? undefined : Math.max(flags.topNsigma, -1),
    typicalP: flags.typical,
    xtcProbability: flags.xtcProbability,
    xtcThreshold: flags.xtcThreshold,
    dynatempRange: flags.dynatempRange,
    dynatempExponent: flags.dynatempExp,
    mirostat: flags.mirostat,
    mirostatEta: flags.mirostatLr,
    mirostatTau: flags.mirostatEnt,
    adaptiveTarget: flags.adaptiveTarget,
    adaptiveDecay: flags.adaptiveDecay,
    logitBias: sums(flags.logitBias),
  }
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as SamplingOptions
}

/** `none` forgets what was given before it. */
function breakers(flags: SamplingFlags & { escape: boolean }) {
  const given = flags.drySequenceBreaker
  return given
    ?.slice(given.lastIndexOf('none') + 1)
    .map((text) => (flags.escape ? processEscapes(Buffer.from(text)).toString() : text))
}

/** A token may be given again. */
function sums(given: [number, number][] | undefined): LogitBias | undefined {
  if (!given) return undefined
  const all: Record<number, number> = {}
  for (const [token, value] of given) all[token] = (all[token] ?? 0) + value
  return all
}

/** @throws UsageError for more than one of them, and for a file that cannot be read */
export async function constraintOf(flags: SamplingFlags): Promise<SamplingOptions> {
  const { grammar, grammarFile, jsonSchema, jsonSchemaFile } = flags
  const given = [grammar, grammarFile, jsonSchema, jsonSchemaFile].filter((one) => one !== undefined)
  if (given.length > 1) throw new UsageError('of --grammar, --json-schema and their files one can be given')
  if (grammar !== undefined) return { grammar }
  if (jsonSchema !== undefined) return { jsonSchema }
  if (grammarFile !== undefined) return { grammar: await textOf(grammarFile) }
  return jsonSchemaFile === undefined ? {} : { jsonSchema: await textOf(jsonSchemaFile) }
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(`cannot read ${path}: ${code === 'ENOENT' ? 'no such file' : (code ?? message)}`)
  }
}
