// How sure a share of right answers is.

const Z = 1.959964 // 95 %

/** Wilson's interval, which holds for few answers and for shares of 0 and 1. */
export function wilson(right, n) {
  if (n === 0) return { low: 0, high: 1 }
  const share = right / n
  const scale = 1 + Z ** 2 / n
  const middle = (share + Z ** 2 / (2 * n)) / scale
  const half = (Z / scale) * Math.sqrt((share * (1 - share)) / n + Z ** 2 / (4 * n ** 2))
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) }
}
