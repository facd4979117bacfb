/** A chat template whose model writes its calls of tools between two marks, and its thoughts between think tags. */

import type { Context, ContextOptions } from '../../../src/ts/index.js'
import { tinyContext, tinyModel } from '../../ts/support.js'

export interface ToolTemplate {
  /** Before and behind a call. */
  open?: string
  close?: string
  /** What an answer begins with. */
  begin?: string
}

export function toolTemplate({ open = '~', close = '~', begin = '' }: ToolTemplate = {}): string {
  return [
    "{%- if tools %}{{ '[tools]' + (tools | tojson) + '\n' }}{% endif %}",
    '{%- for m in messages %}',
    "{{- '[' + m.role + ']' }}",
    '{%- if m.reasoning_content %}{{ "<think>" + m.reasoning_content + "</think>" }}{% endif %}',
    '{{- m.content }}',
    '{%- for call in m.tool_calls or [] %}',
    `{{- '${open}{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}${close}' }}`,
    "{%- endfor %}{{ '\n' }}{%- endfor %}",
    `{%- if add_generation_prompt %}[assistant]${begin}{% endif %}`,
  ].join('')
}

export async function toolContext(
  template = toolTemplate(),
  options: Partial<ContextOptions> = {},
): Promise<Context> {
  const metadata = { 'tokenizer.chat_template': { type: 'string', value: template } } as const
  return tinyContext({ model: await tinyModel({ metadata }), nCtx: 8192, ...options })
}

const properties = { city: { enum: ['Paris', 'Rome'] } }

export const weather = {
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'of today',
    parameters: { type: 'object', properties, required: ['city'], additionalProperties: false },
  },
}

/** Of the model maker's bytes: always the mark, and no white space where another byte may come. */
export const marks = { '126': 100, '9': -100, '10': -100, '32': -100 }
