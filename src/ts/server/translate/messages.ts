/** A body of Anthropic's /v1/messages as one of a chat completion. */

import type { ChatMessage } from '../../chat.js'
import { ApiError } from '../api-error.js'
import { type RequestBody, withoutNulls } from '../fields.js'

interface Block {
  type: string
  text?: string
  thinking?: string
  id?: string
  name?: string
  input?: object
  tool_use_id?: string
  content?: string | Block[]
  source?: { type?: string; data?: string }
}

interface Message {
  role: string
  content: string | Block[]
}

interface Tool {
  type?: string
  name: string
  description?: string
  input_schema?: object
}

interface ToolChoice {
  type: string
  name?: string
  disable_parallel_tool_use?: boolean
}

/** Throws ApiError 400 for what has no equal here. */
export function fromMessages(body: RequestBody): RequestBody {
  const { system, messages, tools, tool_choice, stop_sequences, thinking, output_config, ...others } = body
  const choice = tool_choice as ToolChoice | undefined
  const format = (output_config as { format?: { schema?: object } | null } | undefined)?.format
  const kind = (thinking as { type?: string } | undefined)?.type
  return {
    ...others,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: systemText(system as string | Block[]) }]),
      ...(messages as Message[]).flatMap((message, i) => toChat(message, `messages.${i}.content`)),
    ],
    ...(tools !== undefined && { tools: (tools as Tool[]).map(toTool) }),
    ...(choice !== undefined && { tool_choice: toChoice(choice) }),
    ...(choice?.disable_parallel_tool_use && { parallel_tool_calls: false }),
    ...(stop_sequences !== undefined && (stop_sequences as string[]).length > 0 && { stop: stop_sequences }),
    ...(format && { response_format: { type: 'json_schema', json_schema: { schema: format.schema } } }),
    ...(kind !== undefined && {
      chat_template_kwargs: {
        enable_thinking: kind !== 'disabled',
        ...(others.chat_template_kwargs as object),
      },
    }),
  }
}

/** Claude Code writes a number before its system prompt that changes with each request: nothing behind it would be reused. */
const stamp = /^(x-anthropic-billing-header:[^\n]*?\bcch=)[0-9a-f]+/

function systemText(system: string | Block[]): string {
  const texts = typeof system === 'string' ? [system] : system.map((block, i) => textOf(block, `system.${i}`))
  return texts.map((text) => text.replace(stamp, '$10')).join('\n')
}

/** A message of results and text is several: each result is one, in their order. */
function toChat({ role, content }: Message, param: string): ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }]
  const messages: ChatMessage[] = []
  const texts: string[] = []
  const thoughts: string[] = []
  const calls: object[] = []
  const flush = () => {
    if (texts.length === 0 && thoughts.length === 0 && calls.length === 0) return
    messages.push({
      role,
      content: texts.splice(0).join('\n'),
      ...(thoughts.length > 0 && { reasoning_content: thoughts.splice(0).join('\n') }),
      ...(calls.length > 0 && { tool_calls: calls.splice(0) }),
    })
  }
  for (const block of content.map(withoutNulls)) {
    if (block.type === 'thinking') thoughts.push(block.thinking ?? '')
    else if (block.type === 'tool_use') calls.push(toCall(block))
    else if (block.type === 'tool_result') {
      flush()
      messages.push({ role: 'tool', tool_call_id: block.tool_use_id ?? '', content: resultOf(block, param) })
    } else if (block.type !== 'redacted_thinking') texts.push(textOf(block, param))
  }
  flush()
  return messages
}

const toCall = ({ id = '', name = '', input = {} }: Block) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
})

function resultOf({ content = '' }: Block, param: string): string {
  return typeof content === 'string' ? content : content.map((part) => textOf(part, param)).join('\n')
}

function textOf({ type, text, source }: Block, param: string): string {
  if (type === 'text' && typeof text === 'string') return text
  if (type === 'document' && source?.type === 'text' && source.data !== undefined) return source.data
  throw new ApiError(400, 'unsupported_content', `a block of type ${type.slice(0, 80)} is not supported`, {
    param,
  })
}

function toTool(tool: Tool) {
  const { type = 'custom', name, description, input_schema = { type: 'object' } } = withoutNulls(tool)
  if (type !== 'custom') {
    const message = `a tool of type ${type.slice(0, 80)} is run by Anthropic's server, and not by this one`
    throw new ApiError(400, 'unsupported_parameter', message, { param: 'tools' })
  }
  const described = description === undefined ? {} : { description }
  return { type: 'function', function: { name, ...described, parameters: input_schema } }
}

function toChoice({ type, name }: ToolChoice): unknown {
  if (type === 'any') return 'required'
  return type === 'tool' ? { type: 'function', function: { name } } : type
}
