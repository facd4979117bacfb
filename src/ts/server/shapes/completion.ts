/** llama.cpp's own body of a completion: the text as it is, whole and in pieces. */

import type { MessageDelta } from '../../chat.js'
import type { GenerateSummary } from '../../types.js'
import type { ApiError } from '../api-error.js'
import { ChatLogprobs, chatLogprobs, type LikelyToken } from '../logprobs.js'
import type { PromptProgress } from '../prompt-progress.js'
import type { Asked, MakeShape, ServerEvent, Shape, Told } from './shape.js'

const stopTypes: Record<GenerateSummary['stop'], string> = {
  eos: 'eos',
  grammar: 'eos',
  stop: 'word',
  length: 'limit',
  context: 'limit',
}

class CompletionShape implements Shape {
  readonly #logprobs = new ChatLogprobs()

  constructor(readonly asked: Asked) {}

  likely(token: LikelyToken): void {
    this.#logprobs.add(token)
  }

  whole({ summary, timings, slot }: Told): object {
    const { prefill, text, predicted, stop, stopString } = summary
    return {
      index: 0,
      id_slot: slot,
      content: text,
      stop: true,
      model: this.asked.model,
      tokens_predicted: predicted,
      tokens_evaluated: prefill.position,
      tokens_cached: prefill.cached,
      truncated: false,
      stop_type: stopTypes[stop],
      stopping_word: stopString ?? '',
      ...probabilities(this.#logprobs.all()),
      timings,
    }
  }

  first(): ServerEvent[] {
    return []
  }

  progress(prompt_progress: PromptProgress): ServerEvent[] {
    return [{ data: { ...this.#piece('', 0), prompt_progress } }]
  }

  piece({ content = '' }: MessageDelta, likely: readonly LikelyToken[], predicted: number): ServerEvent[] {
    return [{ data: { ...this.#piece(content, predicted), ...probabilities(chatLogprobs(likely)) } }]
  }

  last(told: Told): ServerEvent[] {
    return [{ data: { ...this.whole(told), content: '' } }]
  }

  failed({ body }: ApiError): ServerEvent[] {
    return [{ data: body }]
  }

  #piece(content: string, tokens_predicted: number): object {
    const { nPrompt } = this.asked
    return { index: 0, content, stop: false, tokens_predicted, tokens_evaluated: nPrompt }
  }
}

function probabilities(told: { content: unknown } | null): object {
  return told === null ? {} : { completion_probabilities: told.content }
}

export const completionShape: MakeShape = (asked) => new CompletionShape(asked)
