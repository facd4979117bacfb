/** Log-probabilities of tokens in OpenAI's two shapes. */

import type { GeneratedToken } from '../types.js'

/** A token that was generated with logprobs. */
export interface LikelyToken {
  text: string
  bytes: readonly number[]
  logprob: number
  top: { text: string; bytes: readonly number[]; logprob: number }[]
  /** Where it begins in the text of the answer. */
  offset: number
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** undefined where no logprobs were asked for. */
export function likelyToken(token: GeneratedToken, offset: number): LikelyToken | undefined {
  const { bytes, logprob, topLogprobs } = token
  if (bytes === undefined || logprob === undefined) return undefined
  const top = (topLogprobs ?? []).map(({ bytes, text, logprob }) => ({ bytes: [...bytes], text, logprob }))
  return { text: decoder.decode(bytes), bytes: [...bytes], logprob, top, offset }
}

/** null where there are none. */
export function chatLogprobs(tokens: readonly LikelyToken[]) {
  if (tokens.length === 0) return null
  const content = tokens.map(({ top, ...token }) => ({ ...named(token), top_logprobs: top.map(named) }))
  return { content, refusal: null }
}

const named = ({ text, bytes, logprob }: Omit<LikelyToken, 'top' | 'offset'>) => ({
  token: text,
  logprob,
  bytes,
})

/** null where there are none. The token itself is always one of the likely ones. */
export function textLogprobs(tokens: readonly LikelyToken[]): object | null {
  if (tokens.length === 0) return null
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top, ...token }) =>
      Object.fromEntries([...top, token].map(({ text, logprob }) => [text, logprob])),
    ),
    text_offset: tokens.map(({ offset }) => offset),
  }
}
