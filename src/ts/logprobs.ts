/** Log-probabilities of a drawn token and its alternatives, with the bytes and texts of these. */

import type { ContextHandle } from './context-handle.js'
import type { NativeDrawn } from './native/surface.js'
import type { GeneratedToken, TokenLogprob } from './types.js'

export type NamedLogprobs = Pick<GeneratedToken, 'bytes' | 'logprob' | 'topLogprobs'>

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Nothing where none were asked for, or no token was drawn. */
export function namedLogprobs(context: ContextHandle, drawn: NativeDrawn): NamedLogprobs {
  const { token, logprob, topTokens, topLogprobs } = drawn
  if (token === null || logprob === undefined || !topTokens || !topLogprobs) return {}
  return {
    bytes: context.piece(token),
    logprob,
    topLogprobs: Array.from(topTokens, (id, i): TokenLogprob => {
      const bytes = context.piece(id)
      return { token: id, bytes, text: decoder.decode(bytes), logprob: topLogprobs[i] as number }
    }),
  }
}
