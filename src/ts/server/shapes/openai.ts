/** OpenAI's bodies: of chat completions and of completions, whole and in pieces. */

import { randomUUID } from 'node:crypto'
import type { MessageDelta } from '../../chat.js'
import type { ApiError } from '../api-error.js'
import {
  ChatLogprobs,
  chatLogprobs,
  type GrowingLogprobs,
  type LikelyToken,
  TextLogprobs,
  textLogprobs,
} from '../logprobs.js'
import type { PromptProgress } from '../prompt-progress.js'
import { isCutShort, type Read } from '../reading.js'
import type { Asked, MakeShape, ServerEvent, Shape, Told } from './shape.js'

/** What differs between the two. */
interface Kind {
  /** Of ids. */
  prefix: string
  /** The `object` of an answer, and of a piece of one. */
  object: string
  pieceObject: string
  /** The beginning of a stream, if it says anything. */
  opening?: MessageDelta & { role: 'assistant' }
  logprobs(): GrowingLogprobs
  /** A choice of an answer, without its log-probabilities. */
  whole(read: Read): object
  piece(delta: object, likely: readonly LikelyToken[]): object
}

/** 'length' where a limit ended it, else 'tool_calls' where there are any, else 'stop'. */
function finishReason(read: Read): string {
  if (isCutShort(read.summary)) return 'length'
  return read.message.tool_calls === undefined ? 'stop' : 'tool_calls'
}

class OpenAiShape implements Shape {
  readonly #head: object
  readonly #includeUsage: boolean
  readonly #logprobs: GrowingLogprobs

  constructor(
    readonly kind: Kind,
    { body, model, fingerprint }: Asked,
  ) {
    const created = Math.floor(Date.now() / 1000)
    this.#head = { id: `${kind.prefix}-${randomUUID()}`, created, model, system_fingerprint: fingerprint }
    const options = body.stream_options as { include_usage?: boolean } | undefined
    this.#includeUsage = options?.include_usage === true
    this.#logprobs = kind.logprobs()
  }

  likely(token: LikelyToken): void {
    this.#logprobs.add(token)
  }

  whole({ usage, timings, ...read }: Told): object {
    const { object, whole } = this.kind
    const logprobs = this.#logprobs.all()
    const choice = { index: 0, ...whole(read), logprobs, finish_reason: finishReason(read) }
    return { ...this.#head, object, choices: [choice], usage, timings }
  }

  first(): ServerEvent[] {
    const { opening } = this.kind
    return opening ? [{ data: this.#piece(opening) }] : []
  }

  progress(prompt_progress: PromptProgress): ServerEvent[] {
    return [{ data: { ...this.#piece({}), prompt_progress } }]
  }

  piece(delta: MessageDelta, likely: readonly LikelyToken[]): ServerEvent[] {
    return [{ data: this.#piece(delta, likely) }]
  }

  last({ usage, timings, ...read }: Told): ServerEvent[] {
    const { pieceObject: object } = this.kind
    const counted = { ...this.#head, object, choices: [], usage }
    return [
      { data: { ...this.#piece({}, [], finishReason(read)), timings } },
      ...(this.#includeUsage ? [{ data: counted }] : []),
      { data: '[DONE]' },
    ]
  }

  failed({ body }: ApiError): ServerEvent[] {
    return [{ data: body }]
  }

  #piece(delta: object, likely: readonly LikelyToken[] = [], finish_reason: string | null = null): object {
    const { pieceObject: object, piece } = this.kind
    return { ...this.#head, object, choices: [{ index: 0, ...piece(delta, likely), finish_reason }] }
  }
}

const chat: Kind = {
  prefix: 'chatcmpl',
  object: 'chat.completion',
  pieceObject: 'chat.completion.chunk',
  opening: { role: 'assistant', content: '' },
  logprobs: () => new ChatLogprobs(),
  whole: ({ message }) => ({ message: { ...message, refusal: null } }),
  piece: (delta, likely) => ({ delta, logprobs: chatLogprobs(likely) }),
}

const text: Kind = {
  prefix: 'cmpl',
  object: 'text_completion',
  pieceObject: 'text_completion',
  logprobs: () => new TextLogprobs(),
  whole: ({ summary }) => ({ text: summary.text }),
  piece: ({ content = '' }: MessageDelta, likely) => ({ text: content, logprobs: textLogprobs(likely) }),
}

export const chatShape: MakeShape = (asked) => new OpenAiShape(chat, asked)
export const textShape: MakeShape = (asked) => new OpenAiShape(text, asked)
