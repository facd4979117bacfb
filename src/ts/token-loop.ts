/**
 * Tokens of a context that is held while they are consumed, and the calls that may not wait for it.
 *
 * `for await (const t of ctx.generate(...)) await ctx.prefill(...)` would wait for ever: the prefill for the loop, the
 * loop for the prefill. Other requests on the context wait for their turn rightly. What tells them apart is the
 * asynchronous context of the caller: it is inside the loop from when it takes a token until it asks for the next one.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { H2oError } from './errors.js'

/** One round of a loop: what is called in it, however deep, sees it. */
interface Round {
  held: object
  active: boolean
  outer: Round | undefined
}

const rounds = new AsyncLocalStorage<Round | undefined>()

/** Throws ERR_H2O_INSIDE_GENERATE for a caller in whose loop `held` is held. */
export function refuseInsideLoop(held: object): void {
  for (let round = rounds.getStore(); round; round = round.outer) {
    if (round.active && round.held === held) {
      throw new H2oError(
        'ERR_H2O_INSIDE_GENERATE',
        'a call inside the loop over generate() of the same context would wait for the loop for ever',
      )
    }
  }
}

/** A generator that nobody will ask again lets go of what it holds, and nobody is there to hear that it could not. */
const forgotten = new FinalizationRegistry<AsyncGenerator>((tokens) => {
  tokens.return(undefined).catch(() => {})
})

export class TokenLoop<Token, Summary> implements AsyncGenerator<Token, Summary, void> {
  #held: object
  #tokens: AsyncGenerator<Token, Summary, void>
  #round: Round | undefined
  #summary: Summary | undefined

  /** @param held what `tokens` holds between two of them */
  constructor(held: object, tokens: AsyncGenerator<Token, Summary, void>) {
    this.#held = held
    this.#tokens = tokens
    forgotten.register(this, tokens)
  }

  async next(): Promise<IteratorResult<Token, Summary>> {
    const result = await this.#next()
    return result.done ? result : this.#taken(result.value)
  }

  /** Takes the tokens that are left. Throws ERR_H2O_INTERRUPTED where the loop was left, or failed. */
  async result(): Promise<Summary> {
    while (this.#summary === undefined) {
      const { done } = await this.#next()
      if (done && this.#summary === undefined)
        throw new H2oError('ERR_H2O_INTERRUPTED', 'the generation was left before its end')
    }
    return this.#summary
  }

  async #next(): Promise<IteratorResult<Token, Summary>> {
    this.#leave()
    const result = await this.#tokens.next()
    if (result.done) this.#summary ??= result.value // behind its end a generator says undefined
    return result
  }

  async return(summary: Summary | PromiseLike<Summary>): Promise<IteratorResult<Token, Summary>> {
    this.#leave()
    return this.#tokens.return(summary)
  }

  async throw(error: unknown): Promise<IteratorResult<Token, Summary>> {
    this.#leave()
    return this.#tokens.throw(error)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return(undefined as Summary)
  }

  /**
   * The round begins where the consumer reads the value: there it runs on its own, behind its `await`. next() runs as a
   * part of whoever called the consumer, and what is set there would be seen by them.
   */
  #taken(token: Token): IteratorResult<Token, Summary> {
    const enter = () => this.#enter()
    return {
      done: false,
      get value() {
        enter()
        return token
      },
    }
  }

  #enter(): void {
    if (this.#round) return
    let outer = rounds.getStore()
    while (outer && !outer.active) outer = outer.outer
    this.#round = { held: this.#held, active: true, outer }
    rounds.enterWith(this.#round)
  }

  #leave(): void {
    const round = this.#round
    if (!round) return
    round.active = false
    this.#round = undefined
    if (rounds.getStore() === round) rounds.enterWith(round.outer)
  }
}
