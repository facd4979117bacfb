/** The fields of a request: what each becomes, and which are refused. A new option of generate() is one line here. */

import type { GenerateOptions } from '../generate.js'
import { samplersOfLetters } from '../samplers.js'
import { maxDecodeKeys } from '../types.js'
import { ApiError } from './api-error.js'
import { logprobsOf, schemaOfFormat, topLogprobsOf } from './field-values.js'

/** A JSON schema. */
type Schema = Record<string, unknown>

interface OptionField {
  /** Of several that are given, the first one counts. */
  names: readonly string[]
  /** Of several fields of one option the last one counts that gives it a value. */
  option: keyof GenerateOptions
  schema: Schema
  /** What the option gets; the value itself without it. undefined: nothing. */
  map?(value: never, body: RequestBody): unknown
}

const number = (minimum: number, maximum: number): Schema => ({ type: 'number', minimum, maximum })
const integer = (minimum: number, maximum = 2 ** 31 - 1): Schema => ({ type: 'integer', minimum, maximum })

/** What its search takes is proportional to its length. */
export const stopString = { minLength: 1, maxLength: 2 ** 16 }

const stopStrings: Schema = {
  type: ['string', 'array'],
  ...stopString,
  items: { type: 'string', ...stopString },
  maxItems: 16,
}

const responseFormat: Schema = {
  type: 'object',
  required: ['type'],
  properties: {
    type: { enum: ['text', 'json_object', 'json_schema'] },
    schema: { type: 'object' },
    json_schema: { type: 'object', properties: { schema: { type: 'object' } } },
  },
}

const any = number(-1e6, 1e6)
const positive = number(0, 1e6)
const share = number(0, 1)
/** Alternatives that are told of a token, as with OpenAI. */
const mostAlternatives = 20

// biome-ignore format: a table
export const optionFields: readonly OptionField[] = [
  { names: ['max_completion_tokens', 'max_tokens', 'n_predict'], option: 'nPredict', schema: integer(-1) },
  { names: ['temperature'], option: 'temperature', schema: positive },
  { names: ['dynatemp_range'], option: 'dynatempRange', schema: positive },
  { names: ['dynatemp_exponent'], option: 'dynatempExponent', schema: positive },
  { names: ['top_p'], option: 'topP', schema: share },
  { names: ['top_k'], option: 'topK', schema: integer(-1), map: (k: number) => Math.max(k, 0) },
  { names: ['min_p'], option: 'minP', schema: share },
  { names: ['typical_p'], option: 'typicalP', schema: share },
  { names: ['top_n_sigma'], option: 'topNSigma', schema: any, map: (n: number) => Math.max(n, -1) },
  { names: ['xtc_probability'], option: 'xtcProbability', schema: share },
  { names: ['xtc_threshold'], option: 'xtcThreshold', schema: share },
  { names: ['repeat_last_n'], option: 'repeatLastN', schema: integer(0) },
  { names: ['repeat_penalty', 'repetition_penalty'], option: 'repeatPenalty', schema: number(1e-6, 1e6) },
  { names: ['frequency_penalty'], option: 'frequencyPenalty', schema: any },
  { names: ['presence_penalty'], option: 'presencePenalty', schema: any },
  { names: ['dry_multiplier'], option: 'dryMultiplier', schema: positive },
  // llama.cpp keeps its default then
  { names: ['dry_base'], option: 'dryBase', schema: any, map: (base: number) => (base < 1 ? undefined : base) },
  { names: ['dry_allowed_length'], option: 'dryAllowedLength', schema: integer(0) },
  { names: ['dry_penalty_last_n'], option: 'dryPenaltyLastN', schema: integer(0) },
  { names: ['dry_sequence_breakers'], option: 'drySequenceBreakers', schema: { type: 'array', items: { type: 'string', minLength: 1 } } },
  { names: ['adaptive_target'], option: 'adaptiveTarget', schema: number(-1e6, 1) },
  { names: ['adaptive_decay'], option: 'adaptiveDecay', schema: number(0, 0.99) },
  { names: ['mirostat'], option: 'mirostat', schema: integer(0, 2) },
  { names: ['mirostat_tau'], option: 'mirostatTau', schema: positive },
  { names: ['mirostat_eta'], option: 'mirostatEta', schema: positive },
  // names, or letters
  { names: ['samplers'], option: 'samplers', schema: { type: ['array', 'string'], items: { type: 'string' } },
    map: (given: string | string[]) => (typeof given === 'string' ? samplersOfLetters(given) : given) },
  // ids with a bias each, as an object or as pairs
  { names: ['logit_bias'], option: 'logitBias', schema: { type: ['object', 'array'], items: { type: 'array', minItems: 2, maxItems: 2, items: { type: ['integer', 'string', 'number', 'boolean'] } } },
    map: (given: object) => (Array.isArray(given) ? Object.fromEntries(given) : given) },
  { names: ['grammar'], option: 'grammar', schema: { type: 'string' }, map: (text: string) => text || undefined },
  { names: ['response_format'], option: 'jsonSchema', schema: responseFormat, map: schemaOfFormat },
  { names: ['json_schema', 'guided_json'], option: 'jsonSchema', schema: { type: ['object', 'string'] } },
  { names: ['n_probs'], option: 'logprobs', schema: integer(0, mostAlternatives), map: (n: number) => n || undefined },
  { names: ['logprobs'], option: 'logprobs', schema: { type: ['boolean', 'integer'], minimum: 0, maximum: mostAlternatives }, map: logprobsOf },
  { names: ['top_logprobs'], option: 'logprobs', schema: integer(0, mostAlternatives), map: topLogprobsOf },
  // OpenAI's seeds are any integers; -1 is random
  { names: ['seed'], option: 'seed', schema: { type: 'integer' }, map: seedOf },
  { names: ['stop'], option: 'stop', schema: stopStrings },
  { names: ['ignore_eos'], option: 'ignoreEos', schema: { type: 'boolean' } },
  { names: ['cache_prompt'], option: 'reuse', schema: { type: 'boolean' } },
]

/** One of 32 bits, and not the one by which llama.cpp means any. */
function seedOf(seed: number): number {
  return seed === -1 ? -1 : Math.min(((seed % 2 ** 32) + 2 ** 32) % 2 ** 32, 2 ** 32 - 2)
}

const is =
  (...neutral: unknown[]) =>
  (value: unknown) =>
    neutral.includes(value)
const isEmpty = (value: unknown) => typeof value === 'object' && Object.keys(value as object).length === 0
const never = () => false

/** What would change the answer and is not there: refused, unless the value is the one that changes nothing. */
// biome-ignore format: a table
const refusedFields: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: is(1), best_of: is(1), echo: is(false), suffix: is(''),
  modalities: (value) => Array.isArray(value) && value.length === 1 && value[0] === 'text', audio: never, web_search_options: never, mcp_servers: isEmpty,
  functions: isEmpty, function_call: is('none', 'auto'),
  previous_response_id: never, conversation: never, background: is(false),
  lora: isEmpty, min_keep: is(0), post_sampling_probs: is(false), grammar_lazy: is(false),
}

export type RequestBody = Record<string, unknown>

/** Throws ApiError 400 for the first field that is refused. */
export function refuseFields(body: RequestBody): void {
  for (const [name, isNeutral] of Object.entries(refusedFields)) {
    const value = body[name]
    if (value === undefined || isNeutral(value)) continue
    throw new ApiError(400, 'unsupported_parameter', `${name}: ${shown(value)} is not supported`, {
      param: name,
    })
  }
}

const shown = (value: unknown) =>
  typeof value === 'object' ? (Array.isArray(value) ? 'a list' : 'an object') : String(value).slice(0, 80)

/** What is given of the options of generate(). Throws what toApiError() takes. */
export function optionsOf(body: RequestBody): GenerateOptions {
  const given = optionFields.flatMap(({ names, option, map }) => {
    const name = names.find((one) => body[one] !== undefined)
    if (name === undefined) return []
    return [[option, map ? map(body[name] as never, body) : body[name]]]
  })
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

/** Clients send null for what they do not give. */
export function withoutNulls<T extends object>(given: T): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) as T
}

/** Of an object with these properties, and with any others. */
export function bodySchema(required: string, properties: Record<string, Schema>): Schema {
  const options = optionFields.flatMap(({ names, schema }) => names.map((name) => [name, schema]))
  return {
    type: 'object',
    required: [required],
    properties: { ...Object.fromEntries(options), ...commonFields, ...properties },
  }
}

const commonFields: Record<string, Schema> = {
  model: { type: 'string' },
  stream: { type: 'boolean' },
  id_slot: integer(-1),
  return_progress: { type: 'boolean' },
  stream_options: { type: 'object', properties: { include_usage: { type: 'boolean' } } },
  h2o: {
    type: ['boolean', 'object'],
    additionalProperties: false,
    properties: {
      dense_tail: integer(0),
      decode: { type: ['integer', 'string'], minimum: 0, maximum: maxDecodeKeys, pattern: '^auto$' },
    },
  },
}
