/** Anthropic's body of an answer: a message of blocks, whole and as events. */

import { randomUUID } from 'node:crypto'
import type { MessageDelta } from '../../chat.js'
import type { ApiError } from '../api-error.js'
import type { Usage } from '../figures.js'
import type { PromptProgress } from '../prompt-progress.js'
import { isCutShort } from '../reading.js'
import { type Block, Blocks, blocksOf } from './blocks.js'
import type { Asked, MakeShape, ServerEvent, Shape, Told } from './shape.js'

const event = (name: string, fields: object = {}): ServerEvent => ({ name, data: { type: name, ...fields } })

class MessageShape implements Shape {
  readonly #id = `msg_${randomUUID()}`
  readonly #blocks = new Blocks({
    begin: ({ index, ...block }) => [
      event('content_block_start', { index, content_block: contentOf({ ...block, index, text: '' }) }),
    ],
    add: ({ index, kind }, text) => [event('content_block_delta', { index, delta: deltaOf(kind, text) })],
    end: ({ index }) => [event('content_block_stop', { index })],
  })

  constructor(readonly asked: Asked) {}

  whole(told: Told): object {
    const { usage, timings, message } = told
    const content = blocksOf(message).map(contentOf)
    return { ...this.#message(content), ...this.#ending(told), usage: usageOf(usage), timings }
  }

  first(): ServerEvent[] {
    const usage = { input_tokens: this.asked.nPrompt, output_tokens: 0 }
    const message = { ...this.#message([]), stop_reason: null, stop_sequence: null, usage }
    return [event('message_start', { message })]
  }

  progress(prompt_progress: PromptProgress): ServerEvent[] {
    return [event('ping', { prompt_progress })]
  }

  piece(delta: MessageDelta): ServerEvent[] {
    return this.#blocks.push(delta)
  }

  last(told: Told): ServerEvent[] {
    const { usage, timings } = told
    return [
      ...this.#blocks.end(),
      event('message_delta', { delta: this.#ending(told), usage: usageOf(usage), timings }),
      event('message_stop'),
    ]
  }

  failed(error: ApiError): ServerEvent[] {
    return [{ name: 'error', data: messageError(error) }]
  }

  #message(content: object[]): object {
    return { id: this.#id, type: 'message', role: 'assistant', model: this.asked.model, content }
  }

  #ending({ summary, message }: Told): { stop_reason: string; stop_sequence: string | null } {
    const { stop, stopString } = summary
    const sequences = (this.asked.body.stop_sequences ?? []) as string[]
    const stop_sequence = stopString !== null && sequences.includes(stopString) ? stopString : null
    const reason = () => {
      if (stop === 'context') return 'model_context_window_exceeded'
      if (isCutShort(summary)) return 'max_tokens'
      if (message.tool_calls !== undefined) return 'tool_use'
      return stop_sequence === null ? 'end_turn' : 'stop_sequence'
    }
    return { stop_reason: reason(), stop_sequence }
  }
}

function contentOf({ kind, text, callId, name }: Block): object {
  if (kind === 'thoughts') return { type: 'thinking', thinking: text, signature: '' }
  if (kind === 'text') return { type: 'text', text }
  return { type: 'tool_use', id: callId, name, input: inputOf(text) }
}

/** An answer that was cut short may have half of one. */
function inputOf(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return {}
  }
}

function deltaOf(kind: Block['kind'], text: string): object {
  if (kind === 'thoughts') return { type: 'thinking_delta', thinking: text }
  if (kind === 'text') return { type: 'text_delta', text }
  return { type: 'input_json_delta', partial_json: text }
}

/** Tokens from the cache are counted apart. */
function usageOf({ prompt_tokens, completion_tokens, prompt_tokens_details: { cached_tokens } }: Usage) {
  return {
    input_tokens: prompt_tokens - cached_tokens,
    cache_read_input_tokens: cached_tokens,
    output_tokens: completion_tokens,
  }
}

const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

export function messageError({ status, message }: ApiError): object {
  const type = errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message } }
}

export const messageShape: MakeShape = (asked) => new MessageShape(asked)
