/** Log-probabilities of a drawn token and its alternatives, with the bytes and texts of these. */

import type { ContextHandle } from './context-handle.js'
import type { NativeCall } from './native/surface.js'
import type { GeneratedToken, TokenLogprob } from './types.js'

export type NamedLogprobs = Pick<GeneratedToken, 'bytes' | 'logprob' | 'topLogprobs'>

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Nothing where none were asked for, or no token was drawn. */
export function namedLogprobs(context: ContextHandle, call: NativeCall): NamedLogprobs {
  const { token: drawn, logprob, topTokens, topLogprobs } = call
  if (drawn === null || logprob === undefined || !topTokens || !topLogprobs) return {}
  return {
    bytes: context.piece(drawn),
    logprob,
    topLogprobs: Array.from(topTokens, (token, i): TokenLogprob => {
      const bytes = context.piece(token)
      return { token, bytes, text: decoder.decode(bytes), logprob: topLogprobs[i] as number }
    }),
  }
}
