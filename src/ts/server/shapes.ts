/** OpenAI's bodies: of chat completions and of completions, whole and in pieces. */

import { randomUUID } from 'node:crypto'
import type { MessageDelta } from '../chat.js'
import { chatLogprobs, type LikelyToken, textLogprobs } from './logprobs.js'
import type { Read } from './reading.js'

/** The fields that every piece of one answer shares. */
export interface Head {
  id: string
  created: number
  model: string
  system_fingerprint: string
}

export interface Shape {
  head(model: string, fingerprint: string): Head
  /** @param likely its tokens, where logprobs were asked for */
  whole(head: Head, read: Read, likely: readonly LikelyToken[]): object
  /** What a stream begins with. */
  first(head: Head): object[]
  piece(head: Head, delta: MessageDelta, likely: readonly LikelyToken[]): object
  last(head: Head, read: Read): object
  /** The piece that carries nothing but the usage. */
  bare(head: Head): object
}

function headOf(prefix: string, model: string, fingerprint: string): Head {
  const created = Math.floor(Date.now() / 1000)
  return { id: `${prefix}-${randomUUID()}`, created, model, system_fingerprint: fingerprint }
}

/** 'length' where a limit ended it, else 'tool_calls' where there are any, else 'stop'. */
function finishReason({ summary: { stop }, message }: Read): string {
  if (stop === 'length' || stop === 'context') return 'length'
  return message.tool_calls === undefined ? 'stop' : 'tool_calls'
}

const chatPiece = (
  head: Head,
  delta: object,
  finish_reason: string | null,
  likely: readonly LikelyToken[] = [],
) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: chatLogprobs(likely), finish_reason }],
})

export const chatShape: Shape = {
  head: (model, fingerprint) => headOf('chatcmpl', model, fingerprint),
  whole: (head, read, likely) => ({
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { ...read.message, refusal: null },
        logprobs: chatLogprobs(likely),
        finish_reason: finishReason(read),
      },
    ],
  }),
  first: (head) => [chatPiece(head, { role: 'assistant', content: '' }, null)],
  piece: (head, delta, likely) => chatPiece(head, delta, null, likely),
  last: (head, read) => chatPiece(head, {}, finishReason(read)),
  bare: (head) => ({ ...head, object: 'chat.completion.chunk', choices: [] }),
}

const textPiece = (
  head: Head,
  text: string,
  finish_reason: string | null,
  likely: readonly LikelyToken[] = [],
) => ({
  ...head,
  object: 'text_completion',
  choices: [{ index: 0, text, logprobs: textLogprobs(likely), finish_reason }],
})

export const textShape: Shape = {
  head: (model, fingerprint) => headOf('cmpl', model, fingerprint),
  whole: (head, read, likely) => textPiece(head, read.summary.text, finishReason(read), likely),
  first: () => [],
  piece: (head, { content = '' }, likely) => textPiece(head, content, null, likely),
  last: (head, read) => textPiece(head, '', finishReason(read)),
  bare: (head) => ({ ...head, object: 'text_completion', choices: [] }),
}
