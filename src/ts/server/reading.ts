/** How the text of an answer becomes what its client gets: a message of a chat, or the text as it is. */

import type { AnswerReading, AssistantMessage, Chat, MessageDelta } from '../chat.js'
import { H2oError } from '../errors.js'
import type { GenerateSummary } from '../types.js'
import type { ServedPrompt } from './prompt.js'

/** An answer, whole. */
export interface Read {
  summary: GenerateSummary
  message: AssistantMessage
}

/** Whether a limit ended it. */
export const isCutShort = ({ stop }: GenerateSummary) => stop === 'length' || stop === 'context'

/** Of one answer. A delta is OpenAI's, of a message that holds text alone where there is no chat. */
export interface Reading {
  push(text: string): Promise<MessageDelta[]>
  /** The message, and what has not been told of it. */
  end(summary: GenerateSummary): Promise<AnswerReading>
}

export const readingOf = ({ chat }: ServedPrompt): Reading => (chat ? chatReading(chat) : textReading)

const textMessage = (content: string): AssistantMessage => ({ role: 'assistant', content })

const textReading: Reading = {
  push: async (text) => (text === '' ? [] : [{ content: text }]),
  end: async ({ text }) => ({ message: textMessage(text), deltas: [] }),
}

/** So long a message is read in 5 milliseconds at worst, and a longer one off the main thread. */
const short = 4096
/** Each time all of it is read: a longer one when it has grown by this share, or its time would grow with the square. */
const growth = 1 / 256

/** What is not in the model's format is told as text. */
function chatReading(chat: Chat): Reading {
  const answer = chat.answer()
  const { continued } = chat
  let text = ''
  let nRead = 0
  let told: AssistantMessage = textMessage('')
  const read = async (whole: string, partial: boolean) => {
    nRead = whole.length
    try {
      const isShort = continued + whole.length <= short
      const next = isShort ? answer.read(whole, partial) : await answer.readAsync(whole, partial)
      told = next.message
      return next
    } catch (error) {
      if (error instanceof H2oError && error.code === 'ERR_H2O_CHAT_ANSWER') return undefined
      throw error
    }
  }
  return {
    async push(more) {
      text += more
      const all = continued + text.length
      const isDue = text.length > nRead && (all <= short || text.length - nRead >= growth * all)
      return (isDue && (await read(text, true))?.deltas) || []
    },
    async end(summary) {
      const { text: whole } = summary
      const next = await read(whole, isCutShort(summary))
      if (next) return next
      const before = told.content ?? ''
      const isText = told.tool_calls === undefined && whole.startsWith(before)
      const rest = isText ? whole.slice(before.length) : ''
      return { message: textMessage(whole), deltas: rest === '' ? [] : [{ content: rest }] }
    },
  }
}
