/**
 * How the next token is chosen: llama.cpp's samplers with its names, meanings and defaults (common/common.h,
 * common_params_sampling), checked. Whatever takes these options from a user checks them here.
 */

import { getRandomValues } from 'node:crypto'
import { invalidArgument } from './errors.js'
import { grammarText, type JsonSchema, schemaText } from './grammar.js'
import { type LogitBias, logitBias } from './logit-bias.js'
import type { NativeSampling } from './native/surface.js'
import { defaultSamplers, type SamplerName, samplerOrder } from './samplers.js'
import { boolean, integer, number } from './validate.js'

export interface SamplingOptions {
  /** 0 always takes the most likely token: 0.8 */
  temperature?: number | undefined
  /** The temperature moves by up to this much, up where the choice is open, down where it is clear: 0 */
  dynatempRange?: number | undefined
  /** How the entropy becomes a temperature: 1 */
  dynatempExponent?: number | undefined
  /** Among the k most likely; 0 is all: 40 */
  topK?: number | undefined
  /** Among the most likely that together reach p; 1 is all: 0.95 */
  topP?: number | undefined
  /** Among those at least p times as likely as the most likely; 0 is all: 0.05 */
  minP?: number | undefined
  /** Among those whose surprise is near the expected one and that together reach p; 1 is all: 1 */
  typicalP?: number | undefined
  /** Among those whose logit is within n standard deviations of the largest; -1 is all: -1 */
  topNSigma?: number | undefined
  /** With this probability all but the least likely of those above `xtcThreshold` are left out: 0 */
  xtcProbability?: number | undefined
  /** Above 0.5 nothing is left out: 0.1 */
  xtcThreshold?: number | undefined
  /** Tokens that penalties look back, those of the prompt and of what is before it included: 64 */
  repeatLastN?: number | undefined
  /** Divides the logits above 0 of tokens that came, and multiplies the others; 1 is none: 1 */
  repeatPenalty?: number | undefined
  /** Taken off a logit for every time that the token came: 0 */
  frequencyPenalty?: number | undefined
  /** Taken off the logit of a token that came: 0 */
  presencePenalty?: number | undefined
  /** DRY: strength of the penalty on what would go on with a repetition; 0 is none: 0 */
  dryMultiplier?: number | undefined
  /** DRY: the penalty grows by this factor with every token of the repetition: 1.75 */
  dryBase?: number | undefined
  /** DRY: repetitions up to this length are free: 2 */
  dryAllowedLength?: number | undefined
  /** DRY: tokens that it looks back: 64 */
  dryPenaltyLastN?: number | undefined
  /** DRY: no repetition goes across one of these, 16 at most: newline, colon, double quote, asterisk */
  drySequenceBreakers?: readonly string[] | undefined
  /** With 'adaptive_p' among the samplers: tokens near this probability; below 0 it does nothing: -1 */
  adaptiveTarget?: number | undefined
  /** How slowly it forgets, up to 0.99: 0.9 */
  adaptiveDecay?: number | undefined
  /** 1 or 2: Mirostat in place of all samplers but temperature: 0 */
  mirostat?: 0 | 1 | 2 | undefined
  /** Mirostat: the surprise that it aims at: 5 */
  mirostatTau?: number | undefined
  /** Mirostat: how fast it learns: 0.1 */
  mirostatEta?: number | undefined
  /** Which samplers run, in this order; penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc, temperature */
  samplers?: readonly SamplerName[] | undefined
  /** Added to the logit of a token, by id; false or -Infinity: never that token */
  logitBias?: LogitBias | undefined
  /** Never choose a token that ends the generation: false */
  ignoreEos?: boolean | undefined
  /** What may be said, in llama.cpp's GBNF, from its rule `root` on */
  grammar?: string | undefined
  /** What may be said, as a JSON schema or its text; not together with `grammar` */
  jsonSchema?: JsonSchema | undefined
  /** Tell every token's log-probability and those of so many of the most likely: none is told */
  logprobs?: number | undefined
  /** The same seed, prompt and options give the same tokens. -1 is random, as without it; so is 4294967295, as in llama.cpp. */
  seed?: number | undefined
}

/** For the list of names of an options type that has these. */
export const samplingNames = {
  temperature: true,
  dynatempRange: true,
  dynatempExponent: true,
  topK: true,
  topP: true,
  minP: true,
  typicalP: true,
  topNSigma: true,
  xtcProbability: true,
  xtcThreshold: true,
  repeatLastN: true,
  repeatPenalty: true,
  frequencyPenalty: true,
  presencePenalty: true,
  dryMultiplier: true,
  dryBase: true,
  dryAllowedLength: true,
  dryPenaltyLastN: true,
  drySequenceBreakers: true,
  adaptiveTarget: true,
  adaptiveDecay: true,
  mirostat: true,
  mirostatTau: true,
  mirostatEta: true,
  samplers: true,
  logitBias: true,
  ignoreEos: true,
  grammar: true,
  jsonSchema: true,
  logprobs: true,
  seed: true,
} as const satisfies { [name in keyof Required<SamplingOptions>]: true }

/** llama.cpp takes this one for "random". */
const randomSeed = 0xffffffff

const maxCount = 2 ** 31 - 1

/** The bounds keep every logit a number: what would overflow is refused. Throws ERR_H2O_INVALID_ARGUMENT. */
export function checkSampling(options: SamplingOptions, nVocab: number): NativeSampling {
  const real = (name: keyof SamplingOptions, otherwise: number, min: number, max: number) =>
    number(name, options[name], otherwise, min, max)
  const whole = (name: keyof SamplingOptions, otherwise: number, min: number, max = maxCount) =>
    integer(name, options[name], otherwise, min, max)

  const seed = whole('seed', -1, -1, randomSeed)
  const { grammar, jsonSchema } = options
  if (grammar !== undefined && jsonSchema !== undefined) {
    throw invalidArgument('grammar and jsonSchema each say what may be said; give one of them')
  }
  return {
    temperature: real('temperature', 0.8, 0, 1e6),
    dynatempRange: real('dynatempRange', 0, 0, 1e6),
    dynatempExponent: real('dynatempExponent', 1, 0, 1e6),
    topK: whole('topK', 40, 0),
    topP: real('topP', 0.95, 0, 1),
    minP: real('minP', 0.05, 0, 1),
    typicalP: real('typicalP', 1, 0, 1),
    topNSigma: real('topNSigma', -1, -1, 1e6),
    xtcProbability: real('xtcProbability', 0, 0, 1),
    xtcThreshold: real('xtcThreshold', 0.1, 0, 1),
    repeatLastN: whole('repeatLastN', 64, 0),
    repeatPenalty: real('repeatPenalty', 1, 1e-6, 1e6),
    frequencyPenalty: real('frequencyPenalty', 0, -1e6, 1e6),
    presencePenalty: real('presencePenalty', 0, -1e6, 1e6),
    dryMultiplier: real('dryMultiplier', 0, 0, 1e6),
    dryBase: real('dryBase', 1.75, 1, 1e6),
    dryAllowedLength: whole('dryAllowedLength', 2, 0),
    dryPenaltyLastN: whole('dryPenaltyLastN', 64, 0),
    drySequenceBreakers: breakers(options.drySequenceBreakers),
    adaptiveTarget: real('adaptiveTarget', -1, -1e6, 1),
    adaptiveDecay: real('adaptiveDecay', 0.9, 0, 0.99),
    mirostat: whole('mirostat', 0, 0, 2),
    mirostatTau: real('mirostatTau', 5, 0, 1e6),
    mirostatEta: real('mirostatEta', 0.1, 0, 1e6),
    samplers: options.samplers === undefined ? defaultSamplers : samplerOrder(options.samplers),
    ...logitBias(options.logitBias, nVocab),
    ignoreEos: boolean('ignoreEos', options.ignoreEos, false),
    grammar: grammarText(grammar),
    jsonSchema: schemaText(jsonSchema),
    logprobs: options.logprobs === undefined ? -1 : whole('logprobs', 0, 0),
    seed:
      seed === -1 || seed === randomSeed ? (getRandomValues(new Uint32Array(1))[0] as number) >>> 1 : seed,
  }
}

const defaultBreakers = ['\n', ':', '"', '*']

/** Each is looked for in every token of the vocabulary: 10 ms for 49,152 of them, 50 ms for 262,144. */
const mostBreakers = 16

function breakers(given: unknown): readonly string[] {
  if (given === undefined) return defaultBreakers
  if (!Array.isArray(given) || given.some((one) => typeof one !== 'string' || one === '')) {
    throw invalidArgument('drySequenceBreakers is a list of strings, and none of them is empty', {
      drySequenceBreakers: given,
    })
  }
  if (given.length > mostBreakers) {
    throw invalidArgument(`drySequenceBreakers has more than ${mostBreakers} strings`, {
      drySequenceBreakers: given.length,
    })
  }
  return [...given]
}

/** How many tokens before the next one its penalties look at: 0 without any. */
export function lookBack(sampling: NativeSampling): number {
  const { repeatPenalty, frequencyPenalty, presencePenalty, dryMultiplier, samplers, mirostat } = sampling
  const penalizes = repeatPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0
  if (mirostat !== 0) return 0
  return Math.max(
    penalizes && samplers.includes('penalties') ? sampling.repeatLastN : 0,
    dryMultiplier > 0 && samplers.includes('dry') ? sampling.dryPenaltyLastN : 0,
  )
}
