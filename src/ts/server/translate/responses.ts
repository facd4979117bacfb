/** A body of OpenAI's /v1/responses as one of a chat completion. */

import type { ChatMessage } from '../../chat.js'
import { ApiError } from '../api-error.js'
import { type RequestBody, withoutNulls } from '../fields.js'

interface Part {
  type: string
  text?: string
}

interface Item {
  type?: string
  role?: string
  content?: string | Part[]
  call_id?: string
  name?: string
  arguments?: string
  output?: string | Part[]
  summary?: Part[]
}

interface Tool {
  type: string
  [field: string]: unknown
}

/** Throws ApiError 400 for what has no equal here. */
export function fromResponses(body: RequestBody): RequestBody {
  const { input, instructions, tools, tool_choice, text, reasoning, max_output_tokens, ...others } = body
  const { format } = (text ?? {}) as { format?: { type: string; schema?: object } | null }
  if (others.prompt !== undefined) throw unsupported('a prompt that OpenAI stores', 'prompt')
  const { effort } = (reasoning ?? {}) as { effort?: string | null }
  return {
    ...others,
    messages: [
      ...(instructions === undefined ? [] : [{ role: 'system', content: instructions }]),
      ...(typeof input === 'string' ? [{ role: 'user', content: input }] : toChat(input as Item[])),
    ],
    ...(tools !== undefined && { tools: (tools as Tool[]).map(toTool) }),
    ...(tool_choice !== undefined && { tool_choice: toChoice(tool_choice as string | Tool) }),
    ...(max_output_tokens !== undefined && { max_tokens: max_output_tokens }),
    ...(format && { response_format: { type: format.type, json_schema: { schema: format.schema } } }),
    ...(effort && {
      chat_template_kwargs: { reasoning_effort: effort, ...(others.chat_template_kwargs as object) },
    }),
  }
}

/** Thoughts, text and calls of one answer are one message again. */
function toChat(items: Item[]): ChatMessage[] {
  const messages: ChatMessage[] = []
  const answer = (isOpen: (message: ChatMessage) => boolean): ChatMessage => {
    const last = messages.at(-1)
    if (last?.role === 'assistant' && isOpen(last)) return last
    const begun = { role: 'assistant', content: '' }
    messages.push(begun)
    return begun
  }
  for (const [i, given] of items.entries()) {
    const param = `input.${i}`
    const item = withoutNulls(given)
    const { type = 'message', role = 'user', content = [] } = item
    if (type === 'message' && role === 'assistant') {
      answer(({ content, tool_calls }) => content === '' && !tool_calls).content = textOf(content, param)
    } else if (type === 'message') {
      messages.push({ role, content: textOf(content, param) })
    } else if (type === 'reasoning') {
      const thoughts = content.length > 0 ? content : (item.summary ?? [])
      answer(() => false).reasoning_content = textOf(thoughts, param)
    } else if (type === 'function_call') {
      const { call_id: id = '', name = '', arguments: json = '{}' } = item
      const message = answer(() => true)
      message.tool_calls ??= []
      const calls = message.tool_calls as object[]
      calls.push({ id, type: 'function', function: { name, arguments: json } })
    } else if (type === 'function_call_output') {
      const { call_id = '', output = '' } = item
      messages.push({ role: 'tool', tool_call_id: call_id, content: textOf(output, param) })
    } else throw unsupported(`an item of type ${type.slice(0, 80)}`, param)
  }
  return messages
}

const textTypes = new Set(['input_text', 'output_text', 'text', 'reasoning_text', 'summary_text'])

function textOf(content: string | Part[], param: string): string {
  if (typeof content === 'string') return content
  const texts = content.map(({ type, text }) => {
    if (textTypes.has(type) && typeof text === 'string') return text
    throw unsupported(`a part of type ${type.slice(0, 80)}`, param)
  })
  return texts.join('\n')
}

function toTool({ type, ...described }: Tool) {
  if (type === 'function') return { type, function: withoutNulls(described) }
  throw unsupported(`a tool of type ${type.slice(0, 80)}, which OpenAI's server runs itself,`, 'tools')
}

function toChoice(choice: string | Tool): unknown {
  if (typeof choice === 'string') return choice
  if (choice.type === 'function') return { type: 'function', function: { name: choice.name } }
  throw unsupported(`a choice of type ${choice.type.slice(0, 80)}`, 'tool_choice')
}

const unsupported = (what: string, param: string) =>
  new ApiError(400, 'unsupported_parameter', `${what} is not supported`, { param })
