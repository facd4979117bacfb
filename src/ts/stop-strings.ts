/** Text in, text out up to the first stop string: what may be the beginning of one is held back until it is known. */
export class StopStrings {
  #held = ''
  /** Whether one has come. What follows it is nobody's. */
  found = false

  /** @param stops none of them '' */
  constructor(private readonly stops: readonly string[]) {}

  push(text: string): string {
    this.#held += text
    const at = Math.min(...this.stops.map((stop) => this.#held.indexOf(stop)).filter((i) => i >= 0))
    if (at < Number.POSITIVE_INFINITY) {
      this.found = true
      return this.#take(at)
    }
    return this.#take(this.#held.length - this.#beginning())
  }

  /** What was held back and has become no stop string. */
  flush(): string {
    return this.found ? '' : this.#take(this.#held.length)
  }

  #take(length: number): string {
    const text = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    return text
  }

  /** The length of the longest end of the text that begins a stop string. */
  #beginning(): number {
    const longest = Math.max(0, ...this.stops.map((stop) => stop.length - 1))
    for (let n = Math.min(longest, this.#held.length); n > 0; n--) {
      const end = this.#held.slice(-n)
      if (this.stops.some((stop) => stop.startsWith(end))) return n
    }
    return 0
  }
}
