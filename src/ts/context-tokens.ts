/**
 * The tokens of a context by position, as far as they are known:
 * penalties look at them, and a prompt that begins alike.
 */
export class ContextTokens {
  #ids = new Int32Array(0)

  add(tokens: Int32Array, pos: number): void {
    const end = pos + tokens.length
    if (end > this.#ids.length) {
      const grown = new Int32Array(Math.max(end, 2 * this.#ids.length)).fill(-1)
      grown.set(this.#ids)
      this.#ids = grown
    }
    this.#ids.set(tokens, pos)
  }

  /** A view of the first `n`. */
  first(n: number): Int32Array {
    return this.#ids.subarray(0, n)
  }

  /** The positions [from, to). */
  forget(from: number, to = this.#ids.length): void {
    this.#ids.fill(-1, from, to)
  }

  /** The last `n` tokens before `end` and behind them `next`: `n` of them all together, less where there are less. */
  last(n: number, end: number, next: Int32Array): Int32Array {
    const before = this.#ids
      .subarray(Math.max(0, end - Math.max(0, n - next.length)), end)
      .filter((id) => id >= 0)
    const last = next.subarray(Math.max(0, next.length - n))
    const all = new Int32Array(before.length + last.length)
    all.set(before)
    all.set(last, before.length)
    return all
  }
}
