/**
 * How many tokens at the end of a prompt are dense.
 *
 * As Document.ask() has it, a question of a chunk or less is dense and sees all that lies before it: here the last
 * message of the user, with all that follows. Of a prompt without one, or with a longer one (a document with its
 * question in one message), it is the last `least` tokens.
 */

export interface TailSettings {
  /** S */
  chunk: number
  /** Tokens at the end that are dense in any case. */
  least: number
}

/** @param question tokens from the last message of the user on; undefined if there is none */
export function denseTail(n: number, question: number | undefined, { chunk, least }: TailSettings): number {
  const isQuestion = question !== undefined && question <= chunk
  return Math.min(Math.max(isQuestion ? question : 0, least), n)
}
