import { borders } from './borders.js'

/** One string in a text that comes in pieces. */
class Search {
  readonly #border: Int32Array
  /** So many of its characters end the text so far. */
  length = 0

  constructor(readonly stop: string) {
    this.#border = borders(stop.length, (i) => stop.charCodeAt(i))
  }

  /** How much of the text leads up to the end of the string, where that is in it; -1. Then it is not pushed to again. */
  push(text: string): number {
    for (let i = 0; i < text.length; i++) {
      const char = text.charCodeAt(i)
      while (this.length > 0 && char !== this.stop.charCodeAt(this.length)) {
        this.length = this.#border[this.length - 1] as number
      }
      if (char === this.stop.charCodeAt(this.length)) this.length++
      if (this.length === this.stop.length) return i + 1
    }
    return -1
  }
}

/** Text in, text out up to the first stop string: what may be the beginning of one is held back until it is known. */
export class StopStrings {
  readonly #searches: readonly Search[]
  #held = ''
  /** The one that has come. What follows it is nobody's. */
  found: string | null = null

  /** @param stops none of them '' */
  constructor(stops: readonly string[]) {
    this.#searches = stops.map((stop) => new Search(stop))
  }

  push(text: string): string {
    const before = this.#held.length
    this.#held += text
    let first = Number.POSITIVE_INFINITY
    let begun = 0
    for (const search of this.#searches) {
      const end = search.push(text)
      begun = Math.max(begun, search.length)
      const at = before + end - search.stop.length
      if (end < 0 || at >= first) continue
      first = at
      this.found = search.stop
    }
    return this.#take(this.found !== null ? first : this.#held.length - begun)
  }

  /** What was held back and has become no stop string. */
  flush(): string {
    return this.found !== null ? '' : this.#take(this.#held.length)
  }

  #take(length: number): string {
    const text = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    return text
  }
}
