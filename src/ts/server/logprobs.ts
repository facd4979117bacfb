/** Log-probabilities of tokens in OpenAI's two shapes. */

import type { GeneratedToken } from '../types.js'
import { WrittenList } from './written-list.js'

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

/** Of a whole answer, token by token. */
export interface GrowingLogprobs {
  add(token: LikelyToken): void
  /** null where there are none. */
  all(): object | null
}

const ofChat = ({ top, ...token }: LikelyToken) => ({ ...named(token), top_logprobs: top.map(named) })

const named = ({ text, bytes, logprob }: Omit<LikelyToken, 'top' | 'offset'>) => ({
  token: text,
  logprob,
  bytes,
})

/** Of a piece of an answer; null where there are none. */
export function chatLogprobs(tokens: readonly LikelyToken[]) {
  return tokens.length === 0 ? null : { content: tokens.map(ofChat), refusal: null }
}

export class ChatLogprobs implements GrowingLogprobs {
  #content: WrittenList | undefined

  add(token: LikelyToken): void {
    this.#content ??= new WrittenList()
    this.#content.add(ofChat(token))
  }

  all() {
    return this.#content ? { content: this.#content, refusal: null } : null
  }
}

/** The token itself is always one of the likely ones. */
const ofText: Readonly<Record<string, (token: LikelyToken) => unknown>> = {
  tokens: ({ text }: LikelyToken) => text,
  token_logprobs: ({ logprob }: LikelyToken) => logprob,
  top_logprobs: ({ top, ...token }: LikelyToken) =>
    Object.fromEntries([...top, token].map(({ text, logprob }) => [text, logprob])),
  text_offset: ({ offset }: LikelyToken) => offset,
}

/** Of a piece of an answer; null where there are none. */
export function textLogprobs(tokens: readonly LikelyToken[]): object | null {
  if (tokens.length === 0) return null
  return Object.fromEntries(Object.entries(ofText).map(([name, of]) => [name, tokens.map(of)]))
}

export class TextLogprobs implements GrowingLogprobs {
  readonly #lists = Object.entries(ofText).map(([name, of]) => ({ name, of, list: new WrittenList() }))
  #isEmpty = true

  add(token: LikelyToken): void {
    this.#isEmpty = false
    for (const { of, list } of this.#lists) list.add(of(token))
  }

  all(): object | null {
    return this.#isEmpty ? null : Object.fromEntries(this.#lists.map(({ name, list }) => [name, list]))
  }
}
