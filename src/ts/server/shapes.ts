/** OpenAI's bodies: of chat completions and of completions, whole and in pieces. */

import { randomUUID } from 'node:crypto'
import type { GenerateSummary } from '../types.js'
import { chatLogprobs, type LikelyToken, textLogprobs } from './logprobs.js'

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
  whole(head: Head, summary: GenerateSummary, likely: readonly LikelyToken[]): object
  /** What a stream begins with. */
  first(head: Head): object[]
  piece(head: Head, text: string, likely: readonly LikelyToken[]): object
  last(head: Head, summary: GenerateSummary): object
  /** The piece that carries nothing but the usage. */
  bare(head: Head): object
}

function headOf(prefix: string, model: string, fingerprint: string): Head {
  const created = Math.floor(Date.now() / 1000)
  return { id: `${prefix}-${randomUUID()}`, created, model, system_fingerprint: fingerprint }
}

/** 'length' where a limit ended it, 'stop' where the model, a stop string or the grammar did. */
const finishReason = ({ stop }: GenerateSummary) =>
  stop === 'length' || stop === 'context' ? 'length' : 'stop'

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
  whole: (head, summary, likely) => ({
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: summary.text, refusal: null },
        logprobs: chatLogprobs(likely),
        finish_reason: finishReason(summary),
      },
    ],
  }),
  first: (head) => [chatPiece(head, { role: 'assistant', content: '' }, null)],
  piece: (head, content, likely) => chatPiece(head, { content }, null, likely),
  last: (head, summary) => chatPiece(head, {}, finishReason(summary)),
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
  whole: (head, summary, likely) => textPiece(head, summary.text, finishReason(summary), likely),
  first: () => [],
  piece: (head, text, likely) => textPiece(head, text, null, likely),
  last: (head, summary) => textPiece(head, '', finishReason(summary)),
  bare: (head) => ({ ...head, object: 'text_completion', choices: [] }),
}
