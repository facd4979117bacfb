/** How far a request came: counted and logged also where its client left before the answer had ended. */

import type { PrefillProgress } from '../types.js'

export class Course {
  /** Tokens of the prompt that were read. */
  read = 0
  cached = 0
  predicted = 0
  readonly #began = performance.now()
  #firstAt: number | undefined

  /** @param nPrompt tokens of the prompt */
  constructor(readonly nPrompt: number) {}

  progressed({ done, total }: PrefillProgress): void {
    this.read = done
    this.cached = this.nPrompt - total
  }

  generated(): void {
    this.#firstAt ??= performance.now()
    this.predicted++
  }

  /** What both took until now. */
  get ms(): { prompt: number; predicted: number } {
    const now = performance.now()
    const firstAt = this.#firstAt ?? now
    return { prompt: firstAt - this.#began, predicted: now - firstAt }
  }

  toString(): string {
    const { nPrompt, cached, read, predicted } = this
    return `${nPrompt} tokens, ${cached} cached, ${read} read, ${predicted} generated`
  }
}
