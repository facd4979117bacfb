// What took how long: the stages of a run, and of what they ran the slowest.

export const SLOWEST = 20

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

  get seconds() {
    return this.stages.reduce((sum, { seconds }) => sum + seconds, 0)
  }
}

/** @param {{ what: string, seconds: number }[]} rows */
export const timeTable = (title, rows) =>
  [`== ${title}`, ...rows.map(({ what, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${what}`)].join(
    '\n',
  )

export const slowest = (rows) => [...rows].sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)
