/**
 * Sequences that go on behind a text which another one has read, in its cells: one copy of K and V for all who ask.
 *
 * Whatever they do, the text stays as it is, since each forgets itself as a whole. So a model with recurrent layers can
 * be asked any number of times, too.
 */

import { ContextHandle } from './context-handle.js'
import type { Turn } from './generate.js'
import type { Place } from './places.js'

/** A question is dense, however long it is: whether its cells lie as a sparse one's must depends on who else asks. */
const all = 2 ** 31 - 1

export class Askers {
  readonly #reader: ContextHandle
  readonly #all: readonly ContextHandle[]
  #idle: ContextHandle[]

  /** @param reader sequence 0 of a context whose sequences share their cells */
  constructor(reader: ContextHandle) {
    this.#reader = reader
    const { shared } = reader
    this.#all = Array.from({ length: shared.parallel - 1 }, (_, i) => new ContextHandle(shared, i + 1))
    this.#idle = [...this.#all]
  }

  /**
   * One that holds the text of `place` and nothing else, as soon as one is free and what was called on the reader before
   * has ended. Throws ERR_H2O_POSITION_STALE, and ERR_H2O_POSITION_GONE where more was read behind the text and the
   * model cannot go back.
   */
  async take(place: Place, signal: AbortSignal | undefined): Promise<Turn> {
    const end = await this.#reader.begin(signal, 'beside')
    const context = this.#idle.pop() as ContextHandle // as many have a turn at once as there are
    const leave = () => {
      this.#idle.push(context)
      end()
    }
    try {
      await context.goOnBehind(this.#reader, this.#reader.places.positionOf(place), this.#room)
    } catch (error) {
      leave()
      throw error
    }
    const forget = async () => {
      try {
        if (!context.disposed) await context.forget(0)
      } catch {
        // what goes on in it next begins with that
      } finally {
        leave()
      }
    }
    return { context, behind: { from: context.position, denseTail: all }, end: forget }
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#all.map((asker) => asker.dispose(async () => {})))
  }

  /** Tokens of a question and its answer: the same however many ask at once, so that an answer does not depend on them. */
  get #room(): number {
    const { info, position } = this.#reader
    return Math.floor((info.nCtx - position) / this.#all.length)
  }
}
