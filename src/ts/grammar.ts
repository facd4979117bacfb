/** What a generation may say, as text for the native side, which parses it. */

import { H2oError, invalidArgument } from './errors.js'
import { isRecord } from './validate.js'
import { wellFormedJson, wellFormedJsonText } from './well-formed.js'

/** As an object, or as its text, in which all properties keep their order. */
export type JsonSchema = string | Readonly<Record<string, unknown>>

/** Characters of a grammar or a schema; what is parsed from one takes memory. */
const longest = 2 ** 20

export function grammarText(grammar: unknown): string {
  if (grammar === undefined) return ''
  if (typeof grammar !== 'string' || grammar.includes('\0')) {
    throw invalidArgument('grammar is a text in GBNF', { grammar: typeof grammar })
  }
  return bounded('grammar', grammar)
}

export function schemaText(schema: unknown): string {
  if (schema === undefined) return ''
  return bounded(
    'jsonSchema',
    typeof schema === 'string' ? parsed(bounded('jsonSchema', schema)) : written(schema),
  )
}

function parsed(text: string): string {
  try {
    if (isRecord(JSON.parse(text))) return wellFormedJsonText(text)
  } catch (cause) {
    throw refused((cause as Error).message, cause)
  }
  throw refused('it is no object')
}

function written(schema: unknown): string {
  if (!isRecord(schema)) throw refused('it is no object')
  try {
    return wellFormedJson(schema)
  } catch (cause) {
    throw refused((cause as Error).message, cause)
  }
}

function refused(why: string, cause?: unknown): H2oError {
  return new H2oError('ERR_H2O_INVALID_ARGUMENT', `the JSON schema is refused: ${why}`, { cause })
}

function bounded(name: string, text: string): string {
  if (text.length > longest) {
    throw invalidArgument(`${name} has more than ${longest} characters`, { [name]: text.length })
  }
  return text
}
