// Medians with their spread, of values and of paired ratios.

export interface Spread {
  median: number
  min: number
  max: number
}

/** undefined for no values */
export function spread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined
  const sorted = [...values].sort((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const [low, high] = [sorted[Math.floor(middle)] as number, sorted[Math.ceil(middle)] as number]
  return { median: (low + high) / 2, min: sorted[0] as number, max: sorted.at(-1) as number }
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
