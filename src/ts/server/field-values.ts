/** Fields of a request whose values are made anew for generate(). */

import type { JsonSchema } from '../grammar.js'
import { ApiError } from './api-error.js'

interface ResponseFormat {
  type: 'text' | 'json_object' | 'json_schema'
  /** llama-server's, of a json_object. */
  schema?: JsonSchema
  json_schema?: { schema?: JsonSchema }
}

/** Without a schema any object will do. */
export function schemaOfFormat({ type, schema, json_schema }: ResponseFormat): JsonSchema | undefined {
  return type === 'text' ? undefined : (json_schema?.schema ?? schema ?? { type: 'object' })
}

/** A number for completions; whether there are any for chats. */
export function logprobsOf(given: boolean | number): number | undefined {
  if (given === false) return undefined
  return given === true ? 0 : given
}

export function topLogprobsOf(n: number, { logprobs }: Record<string, unknown>): number | undefined {
  if (logprobs === true) return n
  if (n === 0) return undefined
  throw new ApiError(400, 'invalid_request', 'top_logprobs needs logprobs: true', { param: 'top_logprobs' })
}
