/** The nearest value at a share of a list, in whole milliseconds; null of an empty one. */
export function quantile(values, share) {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => a - b)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))])
}
