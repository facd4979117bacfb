/** A list of an answer that is written as JSON while it grows. */

import { randomUUID } from 'node:crypto'

/** Stands for a list in a text, until all of that is written. */
const mark = randomUUID()
/** Those in the text that is being written. */
let met: WrittenList[] = []

/** As objects, 30,000 tokens with 20 alternatives each take 400 MB, and two seconds to write at once. */
export class WrittenList {
  readonly #written: string[] = []

  add(value: unknown): void {
    this.#written.push(JSON.stringify(value))
  }

  get json(): string {
    return `[${this.#written.join()}]`
  }

  toJSON(): string {
    met.push(this)
    return mark
  }
}

/** What holds such lists, as JSON. */
export function jsonWith(answer: object): string {
  met = []
  const parts = JSON.stringify(answer).split(`"${mark}"`)
  return parts.flatMap((part, i) => [part, met[i]?.json ?? '']).join('')
}
