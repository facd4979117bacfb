/** A listener of the caller's, told how far some native work is: what it throws ends the work. */
export class Listener<Value> {
  /** What it threw, which is what the work ends with; undefined while it has not. */
  thrown: unknown
  readonly #listener: ((value: Value) => void) | undefined
  readonly #abort: () => void

  /** @param abort ends the work */
  constructor(listener: ((value: Value) => void) | undefined, abort: () => void) {
    this.#listener = listener
    this.#abort = abort
  }

  tell(value: Value): void {
    if (this.thrown !== undefined) return
    try {
      this.#listener?.(value)
    } catch (error) {
      this.thrown = error ?? new Error('onProgress threw')
      this.#abort()
    }
  }
}
