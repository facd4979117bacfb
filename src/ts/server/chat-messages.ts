/** Messages as clients send them, as templates want them. */

import type { ChatMessage } from '../chat.js'
import { ApiError } from './api-error.js'

/** Parts of text become one text, as in llama.cpp; images and sound are refused. */
export function toChatMessages(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map((message, i) => ({
    ...message,
    content: textOf(message.content, `messages.${i}.content`),
  }))
}

/** Whether an answer goes on behind the last message, if it may; an empty one of the assistant is left out. */
export function continued(
  messages: ChatMessage[],
  isContinued: boolean,
): { messages: ChatMessage[]; continueFinalMessage: boolean } {
  const last = messages.at(-1)
  if (!isContinued || last?.role !== 'assistant') return { messages, continueFinalMessage: false }
  const { content, reasoning_content, tool_calls } = last
  const isCall = Array.isArray(tool_calls) && tool_calls.length > 0
  const isEmpty = !content && !reasoning_content && !isCall && messages.length > 1
  return isEmpty
    ? { messages: messages.slice(0, -1), continueFinalMessage: false }
    : { messages, continueFinalMessage: true }
}

/**
 * The text of the last message of the user, without the space around it that templates may cut; undefined if there is
 * none.
 */
export function lastQuestion(messages: readonly ChatMessage[]): string | undefined {
  const text = messages.findLast(({ role }) => role === 'user')?.content
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
}

function textOf(content: unknown, param: string): string {
  if (content === undefined || content === null) return ''
  if (typeof content === 'string') return content
  const parts = content as { type?: unknown; text?: unknown }[]
  return parts
    .map(({ type, text }) => {
      if (type === 'text' && typeof text === 'string') return text
      const named = typeof type === 'string' ? type.slice(0, 80) : 'none'
      throw new ApiError(400, 'unsupported_content', `a part of type ${named} is not supported`, { param })
    })
    .join('\n')
}
