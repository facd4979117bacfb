/** OpenAI's bodies: of chat completions and of completions, whole and in pieces. */

import { randomUUID } from 'node:crypto'
import type { GenerateSummary } from '../types.js'

/** The fields that every piece of one answer shares. */
export interface Head {
  id: string
  created: number
  model: string
  system_fingerprint: string
}

export interface Shape {
  head(model: string, fingerprint: string): Head
  whole(head: Head, summary: GenerateSummary): object
  /** What a stream begins with. */
  first(head: Head): object[]
  piece(head: Head, text: string): object
  last(head: Head, summary: GenerateSummary): object
  /** The piece that carries nothing but the usage. */
  bare(head: Head): object
}

function headOf(prefix: string, model: string, fingerprint: string): Head {
  const created = Math.floor(Date.now() / 1000)
  return { id: `${prefix}-${randomUUID()}`, created, model, system_fingerprint: fingerprint }
}

/** 'stop' where the model or a stop string ended it, 'length' where a limit did. */
const finishReason = ({ stop }: GenerateSummary) => (stop === 'eos' || stop === 'stop' ? 'stop' : 'length')

const chatPiece = (head: Head, delta: object, finish_reason: string | null) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
})

export const chatShape: Shape = {
  head: (model, fingerprint) => headOf('chatcmpl', model, fingerprint),
  whole: (head, summary) => ({
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: summary.text, refusal: null },
        logprobs: null,
        finish_reason: finishReason(summary),
      },
    ],
  }),
  first: (head) => [chatPiece(head, { role: 'assistant', content: '' }, null)],
  piece: (head, content) => chatPiece(head, { content }, null),
  last: (head, summary) => chatPiece(head, {}, finishReason(summary)),
  bare: (head) => ({ ...head, object: 'chat.completion.chunk', choices: [] }),
}

const textPiece = (head: Head, text: string, finish_reason: string | null) => ({
  ...head,
  object: 'text_completion',
  choices: [{ index: 0, text, logprobs: null, finish_reason }],
})

export const textShape: Shape = {
  head: (model, fingerprint) => headOf('cmpl', model, fingerprint),
  whole: (head, summary) => textPiece(head, summary.text, finishReason(summary)),
  first: () => [],
  piece: (head, text) => textPiece(head, text, null),
  last: (head, summary) => textPiece(head, '', finishReason(summary)),
  bare: (head) => ({ ...head, object: 'text_completion', choices: [] }),
}
