// Flags of sampling beyond the common ones: llama.cpp's names and meanings (common/arg.cpp). A default is the
// library's, so what was not given stays out.
import { InvalidArgumentError } from 'commander'
import { specTypes } from '../../drafting.js'
import type { LogitBias, SamplingOptions } from '../../index.js'
import { samplerOrder, samplersOfLetters } from '../../samplers.js'
import { readTextFile } from '../shell/text-file.js'
import { UsageError } from '../shell/usage-error.js'
import { processEscapes } from './escapes.js'
import type { FlagsOf, OptionSpec } from './option.js'
import { integer, number, oneOf, type Parser } from './parsers.js'

/** 15043+1, 15043-1, 15043-inf */
const bias: Parser<[number, number]> = (text) => {
  const match = /^\s*(\d+)\s*([+-])\s*([\d.e+-]+|inf)$/i.exec(text)
  const size = /^inf$/i.test(match?.[3] ?? '') ? Number.POSITIVE_INFINITY : Number(match?.[3])
  if (!match || Number.isNaN(size)) {
    throw new InvalidArgumentError('A token id, + or - and a number are expected: 15043+1, 15043-inf.')
  }
  return [Number(match[1]), match[2] === '-' ? -size : size]
}

const group = 'Sampling:'
const any = number(-1e6, 1e6)
const share = number(0, 1)

// biome-ignore format: a table
export const samplingFlagOptions = [
  { group, names: ['--samplers'], to: 'samplers', value: 'NAMES', parse: (text: string) => samplerOrder(text.split(';').filter(Boolean)),
    help: 'which samplers run, in this order (default: penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature)' },
  { group, names: ['--sampler-seq', '--sampling-seq'], to: 'samplers', value: 'LETTERS', parse: samplersOfLetters, help: 'the same in letters (default: edskypmxt)' },
  { group, names: ['--repeat-last-n'], to: 'repeatLastN', value: 'N', parse: integer(0), help: 'tokens that the penalties look back (default: 64)' },
  { group, names: ['--repeat-penalty'], to: 'repeatPenalty', value: 'N', env: 'LLAMA_ARG_REPEAT_PENALTY', parse: number(1e-6, 1e6), help: 'penalty of tokens that came (default: 1, none)' },
  { group, names: ['--presence-penalty'], to: 'presencePenalty', value: 'N', env: 'LLAMA_ARG_PRESENCE_PENALTY', parse: any, help: 'taken off the logit of a token that came (default: 0)' },
  { group, names: ['--frequency-penalty'], to: 'frequencyPenalty', value: 'N', env: 'LLAMA_ARG_FREQUENCY_PENALTY', parse: any, help: 'the same, for every time (default: 0)' },
  { group, names: ['--dry-multiplier'], to: 'dryMultiplier', value: 'N', parse: number(0, 1e6), help: 'DRY: penalty of what would go on with a repetition (default: 0, none)' },
  // llama.cpp keeps its default then
  { group, names: ['--dry-base'], to: 'dryBase', map: (base: number) => (base < 1 ? undefined : base), value: 'N', parse: any, help: 'DRY: growth per token of the repetition (default: 1.75)' },
  { group, names: ['--dry-allowed-length'], to: 'dryAllowedLength', value: 'N', parse: integer(0), help: 'DRY: repetitions up to this length are free (default: 2)' },
  { group, names: ['--dry-penalty-last-n'], to: 'dryPenaltyLastN', value: 'N', parse: integer(0), help: 'DRY: tokens that it looks back (default: 64)' },
  { group, names: ['--dry-sequence-breaker'], value: 'TEXT', several: true, help: "DRY: no repetition goes across it, in place of newline : \" *; 'none' for none" },
  { group, names: ['--top-nsigma', '--top-n-sigma'], to: 'topNSigma', map: (n: number) => Math.max(n, -1), value: 'N', parse: any, help: 'sample within N standard deviations of the largest logit (default: -1, all)' },
  { group, names: ['--typical', '--typical-p'], to: 'typicalP', value: 'P', parse: share, help: 'locally typical sampling (default: 1, all)' },
  { group, names: ['--xtc-probability'], to: 'xtcProbability', value: 'P', parse: share, help: 'how often XTC leaves out the likeliest tokens (default: 0)' },
  { group, names: ['--xtc-threshold'], to: 'xtcThreshold', value: 'P', parse: share, help: 'XTC: from this probability on (default: 0.1)' },
  { group, names: ['--dynatemp-range'], to: 'dynatempRange', value: 'N', parse: number(0, 1e6), help: 'the temperature moves by up to N (default: 0)' },
  { group, names: ['--dynatemp-exp'], to: 'dynatempExponent', value: 'N', parse: number(0, 1e6), help: 'how the entropy becomes a temperature (default: 1)' },
  { group, names: ['--mirostat'], to: 'mirostat', value: 'N', parse: integer(0, 2) as Parser<0 | 1 | 2>, help: '1 or 2: Mirostat in place of all samplers but temperature (default: 0)' },
  { group, names: ['--mirostat-lr'], to: 'mirostatEta', value: 'N', parse: number(0, 1e6), help: 'Mirostat: learning rate (default: 0.1)' },
  { group, names: ['--mirostat-ent'], to: 'mirostatTau', value: 'N', parse: number(0, 1e6), help: 'Mirostat: the surprise that it aims at (default: 5)' },
  { group, names: ['--adaptive-target'], to: 'adaptiveTarget', value: 'P', parse: number(-1e6, 1), help: 'with the sampler adaptive_p: tokens near this probability (default: -1, off)' },
  { group, names: ['--adaptive-decay'], to: 'adaptiveDecay', value: 'N', parse: number(0, 0.99), help: 'how slowly it forgets (default: 0.9)' },
  { group, names: ['-l', '--logit-bias'], to: 'logitBias', map: sums, value: 'TOKEN(+/-)BIAS', several: true, parse: bias, help: 'added to the logit of a token: 15043+1, 15043-inf; may be given several times' },
  { group, names: ['--spec-type'], to: 'specType', value: 'NAME', env: 'LLAMA_ARG_SPEC_TYPE', parse: oneOf(...specTypes),
    help: 'ngram-simple drafts what followed the last tokens where they stood before, and checks it in one call (default: none)' },
  { group, names: ['--grammar'], value: 'GBNF', help: 'what may be said, as a grammar with a rule root' },
  { group, names: ['--grammar-file'], value: 'FILE', help: 'the same from a file' },
  { group, names: ['-j', '--json-schema'], value: 'JSON', help: 'what may be said, as a JSON schema' },
  { group, names: ['-jf', '--json-schema-file'], value: 'FILE', help: 'the same from a file' },
] as const satisfies readonly OptionSpec[]

export type SamplingFlags = FlagsOf<typeof samplingFlagOptions>

/** `none` forgets what was given before it. */
export function breakers(given: string[], hasEscapes: boolean): string[] {
  const counting = given.slice(given.lastIndexOf('none') + 1)
  return hasEscapes ? counting.map((text) => processEscapes(Buffer.from(text)).toString()) : counting
}

/** A token may be given again. */
function sums(given: [number, number][]): LogitBias {
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
  if (grammarFile !== undefined) return { grammar: await readTextFile(grammarFile) }
  return jsonSchemaFile === undefined ? {} : { jsonSchema: await readTextFile(jsonSchemaFile) }
}
