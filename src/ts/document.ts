/** A text that a context has read, to be asked about. */

import type { Askers } from './askers.js'
import type { ContextHandle } from './context-handle.js'
import { type AskOptions, askOptionNames, runGenerate } from './generate.js'
import { markForInstanceof } from './instanceof-mark.js'
import type { Place } from './places.js'
import type { Prompt } from './prefill.js'
import { readOptions } from './read-options.js'
import type { Generation, LoadedState, PrefillResult } from './types.js'

/**
 * Questions go behind the text, each behind the text alone: what was asked before is forgotten. A question of a chunk or
 * less is dense and sees all of the text.
 *
 * Questions that come at once are answered one after the other, and in a context with kvUnified side by side: up to
 * parallel - 1 of them, the others when one of these has ended. There every question is dense, each may have an equal
 * share of what the text leaves of nCtx with its answer, and what they are given at once differs from what each is given
 * alone by rounding. What else is called on the context waits for them.
 *
 * The text stays until something else is read in its place: then ask() and save() throw ERR_H2O_POSITION_STALE.
 */
export class Document {
  static {
    markForInstanceof(Document.prototype, 'Document')
  }

  /** How it was read, or what loadDocument() took over. */
  readonly read: PrefillResult | LoadedState
  readonly #context: ContextHandle
  readonly #askers: Askers | undefined

  /** Use Context.read() or Context.loadDocument(). */
  constructor(
    context: ContextHandle,
    read: (PrefillResult | LoadedState) & Place,
    askers: Askers | undefined,
  ) {
    this.#context = context
    this.read = read
    this.#askers = askers
  }

  /** Tokens of the text. */
  get length(): number {
    return this.read.position
  }

  /** As Context.generate(). Throws ERR_H2O_POSITION_STALE if the text was forgotten. */
  ask(question: Prompt, options?: AskOptions): Generation {
    const askers = this.#askers
    const behind = () => ({ ...readOptions('ask', options, askOptionNames), from: this.read })
    const take = askers && ((signal: AbortSignal | undefined) => askers.take(this.read, signal))
    return runGenerate(this.#context, question, behind, take)
  }

  /** The text as bytes for Context.loadDocument(), without what was asked. Throws ERR_H2O_POSITION_STALE. */
  async save(): Promise<Uint8Array> {
    const context = this.#context
    return context.operate(undefined, async () => {
      const end = context.places.positionOf(this.read)
      if (end < context.position) await context.forget(end)
      return context.save()
    })
  }
}
