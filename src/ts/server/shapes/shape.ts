/** What an answer looks like in one of the interfaces: as a whole, and as events. */

import type { MessageDelta } from '../../chat.js'
import type { ApiError } from '../api-error.js'
import type { RequestBody } from '../fields.js'
import type { Timings, Usage } from '../figures.js'
import type { LikelyToken } from '../logprobs.js'
import type { PromptProgress } from '../prompt-progress.js'
import type { Read } from '../reading.js'

/** What is to be answered. */
export interface Asked {
  /** As the client sent it. */
  body: RequestBody
  /** The name of the model. */
  model: string
  fingerprint: string
  /** Tokens of the prompt. */
  nPrompt: number
}

/** An answer that has ended. */
export interface Told extends Read {
  usage: Usage
  timings: Timings
  /** Which one it was. */
  slot: number
}

/** A server-sent event; without a name it is a "message". */
export interface ServerEvent {
  name?: string
  data: object | '[DONE]'
}

/** Of one answer: it may remember what it has said. */
export interface Shape {
  /** A token of a whole answer, where logprobs were asked for. */
  likely?(token: LikelyToken): void
  /** For jsonWith(). */
  whole(told: Told): object
  /** What a stream begins with. */
  first(): ServerEvent[]
  progress(progress: PromptProgress): ServerEvent[]
  /** @param predicted tokens until now */
  piece(delta: MessageDelta, likely: readonly LikelyToken[], predicted: number): ServerEvent[]
  /** What a stream ends with. */
  last(told: Told): ServerEvent[]
  /** What it ends with if it fails. */
  failed(error: ApiError): ServerEvent[]
}

export type MakeShape = (asked: Asked) => Shape
