/** The JSON schemas of what routes take. */

import { bodySchema } from '../fields.js'

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
  prompt: { type: ['string', 'array'], minItems: 1, items: { type: ['string', 'integer'] } },
})

export const tokenizeBody = {
  type: 'object',
  properties: {
    content: { type: 'string' },
    add_special: { type: 'boolean' },
    parse_special: { type: 'boolean' },
  },
}

export const detokenizeBody = {
  type: 'object',
  properties: { tokens: { type: 'array', items: { type: 'integer' } } },
}
