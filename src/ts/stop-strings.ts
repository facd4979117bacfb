/** Text in, text out up to the first stop string: what may be the beginning of one is held back until it is known. */
export class StopStrings {
  #held = ''
  /** The one that has come. What follows it is nobody's. */
  found: string | null = null

  /** @param stops none of them '' */
  constructor(private readonly stops: readonly string[]) {}

  push(text: string): string {
    this.#held += text
    let first = Number.POSITIVE_INFINITY
    for (const stop of this.stops) {
      const at = this.#held.indexOf(stop)
      if (at < 0 || at >= first) continue
      first = at
      this.found = stop
    }
    if (this.found !== null) return this.#take(first)
    return this.#take(this.#held.length - this.#beginning())
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
