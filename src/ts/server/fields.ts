/** The fields of a request: what each becomes, and which are refused. A new option of generate() is one line here. */

import type { GenerateOptions } from '../generate.js'
import { ApiError } from './api-error.js'

/** A JSON schema. */
type Schema = Record<string, unknown>

interface OptionField {
  /** Of several that are given, the first one counts. */
  names: readonly string[]
  option: keyof GenerateOptions
  schema: Schema
  /** What the option gets; the value itself without it. */
  map?(value: never): unknown
}

const number = (minimum: number, maximum: number): Schema => ({ type: 'number', minimum, maximum })
const integer = (minimum: number, maximum = 2 ** 31 - 1): Schema => ({ type: 'integer', minimum, maximum })

const stopStrings: Schema = {
  type: ['string', 'array'],
  minLength: 1,
  items: { type: 'string', minLength: 1 },
  maxItems: 16,
}

// biome-ignore format: a table
export const optionFields: readonly OptionField[] = [
  { names: ['max_completion_tokens', 'max_tokens', 'n_predict'], option: 'nPredict', schema: integer(-1) },
  { names: ['temperature'], option: 'temperature', schema: number(0, 1e6) },
  { names: ['top_p'], option: 'topP', schema: number(0, 1) },
  { names: ['top_k'], option: 'topK', schema: integer(-1), map: (k: number) => Math.max(k, 0) },
  { names: ['min_p'], option: 'minP', schema: number(0, 1) },
  // OpenAI's seeds are any integers; -1 is random
  { names: ['seed'], option: 'seed', schema: { type: 'integer' }, map: (seed: number) => (seed === -1 ? -1 : ((seed % 2 ** 32) + 2 ** 32) % 2 ** 32) },
  { names: ['stop'], option: 'stop', schema: stopStrings },
  { names: ['ignore_eos'], option: 'ignoreEos', schema: { type: 'boolean' } },
  { names: ['cache_prompt'], option: 'reuse', schema: { type: 'boolean' } },
]

const is =
  (...neutral: unknown[]) =>
  (value: unknown) =>
    neutral.includes(value)
const isEmpty = (value: unknown) => typeof value === 'object' && Object.keys(value as object).length === 0
const never = () => false
const isText = (value: unknown) => (value as { type?: unknown }).type === 'text'

/** What would change the answer and is not there: refused, unless the value is the one that changes nothing. */
// biome-ignore format: a table
const refusedFields: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: is(1), best_of: is(1), echo: is(false), suffix: is(''),
  logprobs: is(false), top_logprobs: is(0), n_probs: is(0), logit_bias: isEmpty,
  frequency_penalty: is(0), presence_penalty: is(0), repeat_penalty: is(1), repetition_penalty: is(1),
  response_format: isText, grammar: is(''), json_schema: never, guided_json: never,
  modalities: (value) => JSON.stringify(value) === '["text"]', audio: never, web_search_options: never,
  functions: isEmpty, function_call: is('none', 'auto'), tool_choice: is('none', 'auto'),
  mirostat: is(0), typical_p: is(1), xtc_probability: is(0), dry_multiplier: is(0), dynatemp_range: is(0),
  top_n_sigma: is(-1, 0), samplers: never, lora: isEmpty,
}

export type RequestBody = Record<string, unknown>

/** Throws ApiError 400 for the first field that is refused. */
export function refuseFields(body: RequestBody): void {
  for (const [name, isNeutral] of Object.entries(refusedFields)) {
    const value = body[name]
    if (value === undefined || isNeutral(value)) continue
    throw new ApiError(
      400,
      'unsupported_parameter',
      `${name}: ${JSON.stringify(value).slice(0, 80)} is not supported`,
      { param: name },
    )
  }
}

/** What is given of the options of generate(). */
export function optionsOf(body: RequestBody): GenerateOptions {
  const given = optionFields.flatMap(({ names, option, map }) => {
    const name = names.find((one) => body[one] !== undefined)
    if (name === undefined) return []
    return [[option, map ? map(body[name] as never) : body[name]]]
  })
  return Object.fromEntries(given)
}

/** Clients send null for what they do not give. */
export function withoutNulls(body: RequestBody): RequestBody {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
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
  stream_options: { type: 'object', properties: { include_usage: { type: 'boolean' } } },
  h2o: {
    type: ['boolean', 'object'],
    additionalProperties: false,
    properties: { dense_tail: integer(0) },
  },
}
