// How long the stages of a run took, and the slowest of what they ran.

const SLOWEST = 20

export class Clock {
  /** @type {{ what: string, seconds: number }[]} */
  stages = []

  /** Runs a stage, which may fail: its time counts all the same. */
  async time(what, stage) {
    const start = performance.now()
    try {
      return await stage()
    } finally {
      this.stages.push({ what, seconds: (performance.now() - start) / 1000 })
    }
  }
}

/** @param {{ what: string, seconds: number }[]} rows */
export const timeTable = (title, rows) =>
  [`== ${title}`, ...rows.map(({ what, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${what}`)].join(
    '\n',
  )

export const slowest = (rows) => [...rows].sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)
