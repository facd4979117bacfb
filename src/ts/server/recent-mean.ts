/** A mean of values as they come, the later ones more than the earlier ones. */

/** How much the last one counts. */
const weight = 0.2

/** @param before the mean until now; undefined before the first value */
export const recentMean = (before: number | undefined, now: number): number =>
  before === undefined ? now : before + weight * (now - before)
