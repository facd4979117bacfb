/** The JSON schemas of what routes take. */

import { bodySchema, stopString } from '../fields.js'

const messages = {
  type: 'array',
  minItems: 1,
  items: {
    type: 'object',
    required: ['role'],
    properties: {
      role: { type: 'string' },
      content: { type: ['string', 'null', 'array'], items: { type: 'object' } },
      tool_calls: { type: ['array', 'null'], items: { type: 'object' } },
    },
  },
}

export const chatBody = bodySchema('messages', {
  messages,
  tools: { type: 'array', items: { type: 'object' } },
  tool_choice: { type: ['string', 'object'] },
  parallel_tool_calls: { type: 'boolean' },
  reasoning_format: { enum: ['auto', 'none'] },
  chat_template_kwargs: { type: 'object' },
  continue_final_message: { type: 'boolean' },
})

export const completionBody = bodySchema('prompt', {
  prompt: {
    type: ['string', 'array'],
    minItems: 1,
    items: { type: ['string', 'integer', 'array'], items: { type: 'integer' } },
  },
})

const string = { type: 'string' }
/** Clients that send back what they got give null for what is not there. */
const text = { type: ['string', 'null'] }
const content = (items: object) => ({ type: ['string', 'array'], items })
const contentOrNull = (items: object) => ({ type: ['string', 'array', 'null'], items })

const block = {
  type: 'object',
  required: ['type'],
  properties: {
    ...{ type: string, text, thinking: text, id: text, name: text, tool_use_id: text },
    input: { type: ['object', 'null'] },
    source: { type: 'object', properties: { type: string, data: string } },
  },
}

/** Anthropic's. */
export const messagesBody = bodySchema('messages', {
  system: content(block),
  messages: {
    type: 'array',
    minItems: 1,
    items: {
      type: 'object',
      required: ['role', 'content'],
      properties: {
        role: { enum: ['user', 'assistant', 'system'] },
        content: content({ ...block, properties: { ...block.properties, content: contentOrNull(block) } }),
      },
    },
  },
  tools: {
    type: 'array',
    items: {
      type: 'object',
      required: ['name'],
      properties: { type: text, name: string, description: text, input_schema: { type: ['object', 'null'] } },
    },
  },
  tool_choice: {
    type: 'object',
    required: ['type'],
    properties: { type: { enum: ['auto', 'any', 'tool', 'none'] }, name: string },
  },
  stop_sequences: { type: 'array', items: { type: 'string', ...stopString }, maxItems: 16 },
  thinking: { type: 'object', properties: { type: string } },
  output_config: {
    type: 'object',
    properties: {
      format: {
        type: ['object', 'null'],
        required: ['type', 'schema'],
        properties: { type: { enum: ['json_schema'] }, schema: { type: 'object' } },
      },
    },
  },
  chat_template_kwargs: { type: 'object' },
})

const part = { type: 'object', required: ['type'], properties: { type: string, text } }

/** An answer repeats it. */
const word = { type: ['string', 'null'], maxLength: 80 }

/** Of OpenAI's responses. */
export const responsesBody = bodySchema('input', {
  input: {
    type: ['string', 'array'],
    minItems: 1,
    items: {
      type: 'object',
      properties: {
        ...{ type: text, role: text, call_id: text, name: text, arguments: text },
        ...{ content: contentOrNull(part), output: contentOrNull(part) },
        summary: { type: ['array', 'null'], items: part },
      },
    },
  },
  instructions: string,
  tools: {
    type: 'array',
    items: {
      type: 'object',
      required: ['type'],
      properties: { type: string, name: string },
      if: { properties: { type: { const: 'function' } } },
      // biome-ignore lint/suspicious/noThenProperty: JSON schema's word
      then: { required: ['name'] },
    },
  },
  tool_choice: {
    type: ['string', 'object'],
    required: ['type'],
    additionalProperties: false,
    properties: { type: string, name: string },
  },
  parallel_tool_calls: { type: 'boolean' },
  text: {
    type: 'object',
    properties: {
      verbosity: word,
      format: {
        type: ['object', 'null'],
        required: ['type'],
        properties: { type: { enum: ['text', 'json_object', 'json_schema'] }, schema: { type: 'object' } },
      },
    },
  },
  reasoning: { type: 'object', properties: { effort: word, summary: word } },
  metadata: {
    type: 'object',
    maxProperties: 16,
    propertyNames: { maxLength: 64 },
    additionalProperties: { type: 'string', maxLength: 512 },
  },
  max_output_tokens: { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 },
  chat_template_kwargs: { type: 'object' },
})

export const tokenizeBody = {
  type: 'object',
  properties: {
    content: { type: 'string' },
    add_special: { type: 'boolean' },
    parse_special: { type: 'boolean' },
    with_pieces: { type: 'boolean' },
  },
}

/** Their text is made in one go. */
export const mostTokens = 2 ** 18

export const detokenizeBody = {
  type: 'object',
  properties: { tokens: { type: 'array', maxItems: mostTokens, items: { type: 'integer' } } },
}
