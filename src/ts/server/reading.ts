/** How the text of an answer becomes what its client gets: a message of a chat, or the text as it is. */

import type { AssistantMessage, Chat, MessageDelta } from '../chat.js'
import { H2oError } from '../errors.js'
import type { GenerateSummary } from '../types.js'
import type { ServedPrompt } from './prompt.js'

/** An answer, whole. */
export interface Read {
  summary: GenerateSummary
  message: AssistantMessage
}

/** Of one answer. A delta is OpenAI's, of a message that holds text alone where there is no chat. */
export interface Reading {
  push(text: string): MessageDelta[]
  /** The message, and what has not been told of it. */
  end(summary: GenerateSummary): { message: AssistantMessage; deltas: MessageDelta[] }
}

export const readingOf = ({ chat }: ServedPrompt): Reading => (chat ? chatReading(chat) : textReading)

const textMessage = (content: string): AssistantMessage => ({ role: 'assistant', content })

const textReading: Reading = {
  push: (text) => (text === '' ? [] : [{ content: text }]),
  end: ({ text }) => ({ message: textMessage(text), deltas: [] }),
}

/** What is not in the model's format is told as text. */
function chatReading(chat: Chat): Reading {
  const answer = chat.answer()
  let text = ''
  let told: AssistantMessage = textMessage('')
  const read = (whole: string, partial: boolean) => {
    try {
      const next = answer.read(whole, partial)
      told = next.message
      return next
    } catch (error) {
      if (error instanceof H2oError && error.code === 'ERR_H2O_CHAT_ANSWER') return undefined
      throw error
    }
  }
  return {
    push(more) {
      text += more
      return (more !== '' && read(text, true)?.deltas) || []
    },
    end({ text: whole, stop }) {
      const next = read(whole, stop === 'length' || stop === 'context')
      if (next) return next
      const before = told.content ?? ''
      const isText = told.tool_calls === undefined && whole.startsWith(before)
      const rest = isText ? whole.slice(before.length) : ''
      return { message: textMessage(whole), deltas: rest === '' ? [] : [{ content: rest }] }
    },
  }
}
