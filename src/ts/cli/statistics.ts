// Means with their uncertainty and percentiles, as llama-perplexity computes them; medians with their spread, of values
// and of paired ratios.

export interface Estimate {
  value: number
  /** of the mean; 0 for ten values or fewer */
  uncertainty: number
}

/** Mean and variance of a stream of values, by Welford's update. */
export class Mean {
  #n = 0
  #mean = 0
  #squares = 0

  add(value: number): void {
    this.#n++
    const before = value - this.#mean
    this.#mean += before / this.#n
    this.#squares += before * (value - this.#mean)
  }

  get estimate(): Estimate {
    const uncertainty = this.#n > 10 ? Math.sqrt(this.#squares / this.#n / (this.#n - 1)) : 0
    return { value: this.#n > 0 ? this.#mean : Number.NaN, uncertainty }
  }
}

/** exp of a mean of logarithms, with the uncertainty carried over. */
export function exponential({ value, uncertainty }: Estimate): Estimate {
  const mean = Math.exp(value)
  return { value: mean, uncertainty: mean * uncertainty }
}

/** A share of n in per cent. */
export function percentage(hits: number, n: number): Estimate {
  const share = hits / n
  return { value: 100 * share, uncertainty: n > 1 ? 100 * Math.sqrt((share * (1 - share)) / (n - 1)) : 0 }
}

/** Between the two nearest of the ascending values. */
export function percentile(sorted: readonly number[] | Float64Array, fraction: number): number {
  const at = fraction * (sorted.length - 1)
  const low = Math.floor(at)
  const [a, b] = [sorted[low] ?? Number.NaN, sorted[Math.min(low + 1, sorted.length - 1)] ?? Number.NaN]
  return a === b ? a : a + (at - low) * (b - a)
}

/** Of those that there are; null if there are none. */
export function mean(values: Iterable<number | null>): number | null {
  let [sum, n] = [0, 0]
  for (const value of values) {
    if (value === null) continue
    sum += value
    n++
  }
  return n === 0 ? null : sum / n
}

export interface Spread {
  median: number
  min: number
  max: number
}

/** undefined for no values */
export function spread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined
  const sorted = [...values].sort((a, b) => a - b)
  return { median: percentile(sorted, 0.5), min: sorted[0] as number, max: sorted.at(-1) as number }
}

/** base / own of the repetitions that both have: runs next to each other saw the same machine. */
export function pairedRatio(
  base: ReadonlyMap<number, number>,
  own: ReadonlyMap<number, number>,
): Spread | undefined {
  const ratios = [...own].flatMap(([repetition, value]) => {
    const other = base.get(repetition)
    return other === undefined || value <= 0 ? [] : [other / value]
  })
  return spread(ratios)
}

/** The first of the largest. */
export function argmax(values: ArrayLike<number>): number {
  let best = 0
  for (let i = 1; i < values.length; i++) if ((values[i] as number) > (values[best] as number)) best = i
  return best
}
