// Alternating, pruning, failing; and the rows that come of it.
import { describe, expect, it } from 'vitest'
import type { Measurer } from '../../../src/ts/cli/bench/measure.js'
import { describeJob, type Group, type Job } from '../../../src/ts/cli/bench/plan.js'
import type { Row } from '../../../src/ts/cli/bench/rows.js'
import { type RunnerOptions, runGroups } from '../../../src/ts/cli/bench/runner.js'
import { pairedRatio, spread } from '../../../src/ts/cli/statistics.js'
import { job, tableMeasurer } from '../support/bench.js'

const [on, off, onLarge, h2o] = [
  'stock-fa-on -b 2048 -ub 512',
  'stock-fa-off -b 2048 -ub 512',
  'stock-fa-on -b 2048 -ub 1024',
  'h2o -b 2048 -ub 512',
]
const group: Group = {
  nPrompt: 4096,
  nThreads: 2,
  jobs: [job('stock-fa-on'), job('stock-fa-off'), job('stock-fa-on', 1024), job('h2o')],
}

async function run(
  table: Record<string, (number | Error)[]>,
  options: Partial<RunnerOptions> = {},
  jobs: readonly Job[] = group.jobs,
  other?: Measurer,
) {
  const failed: string[] = []
  const { measurer, ran } = tableMeasurer(table)
  const rows: Row[] = []
  const defaults: RunnerOptions = {
    repetitions: 3,
    prune: 1.25,
    wantsProfile: () => false,
    signal: new AbortController().signal,
    onProgress: () => {},
    onFailure: (_, error) => void failed.push((error as Error).message),
  }
  for await (const part of runGroups([{ ...group, jobs: [...jobs] }], other ?? measurer, {
    ...defaults,
    ...options,
  }))
    rows.push(...part)
  const row = (contender: string, ubatch = 512) =>
    rows.find((one) => one.contender === contender && one.n_ubatch === ubatch) as Row
  return { rows, row, ran, failed }
}

const table = { [on]: [100, 110, 90], [off]: [200], [onLarge]: [120, 80, 115], [h2o]: [50, 22, 30] }

describe('runGroups', () => {
  it('alternates, begins each repetition one further, and prunes slow settings of stock', async () => {
    const { ran } = await run(table)
    expect(ran.slice(0, 4)).toEqual([on, off, onLarge, h2o])
    expect(ran.slice(4)).toEqual([onLarge, h2o, on, h2o, on, onLarge])
  })

  it('prunes only what is slow by CPU time too, and nothing with 0', async () => {
    const all = { ...table, [off]: [200, 200, 200] }
    expect((await run(all, { prune: 0 })).row('stock-fa-off').n).toBe(3)
    expect((await run(all)).row('stock-fa-off').n).toBe(1)
  })

  it('keeps a setting of stock that answers soonest', async () => {
    const slow = { ...table, [off]: [200, 200, 200] }
    const { measurer } = tableMeasurer(slow)
    const answering: Measurer = {
      ...measurer,
      measure: async (one, signal) => {
        const own = await measurer.measure(one, signal)
        return { ...own, answerMs: describeJob(one) === off ? 100 : 1000 }
      },
    }
    expect((await run(slow, {}, group.jobs, answering)).row('stock-fa-off').n).toBe(3)
  })

  it('gives medians with their spread, and paired ratios to the best of stock', async () => {
    const { row } = await run(table)
    expect(row('stock-fa-on')).toMatchObject({
      ttft_ms: { median: 100, min: 90, max: 110 },
      tokens_per_second: 40960,
      speedup: { median: 1, min: 1, max: 1 },
      against: on,
      path: 'dense',
      h2o: null,
    })
    // 100/50, 110/22, 90/30
    expect(row('h2o')).toMatchObject({
      speedup: { median: 3, min: 2, max: 5 },
      cpu_speedup: { median: 3 },
      path: 'h2o',
      chunks: 8,
      h2o: { local: 256, heavy: 255 },
      h2o_bytes: 2 ** 19,
      peak_rss_bytes: 100 * 2 ** 20,
      samples: [{ repetition: 0, ttft_ms: 50, cpu_ms: 100 }, { ttft_ms: 22 }, { ttft_ms: 30 }],
    })
    expect(row('stock-fa-off').speedup).toEqual({ median: 0.5, min: 0.5, max: 0.5 })
  })

  it('does not take a pruned setting for the best, though its one run beat later medians', async () => {
    const { row } = await run({ ...table, [on]: [100, 300, 300], [onLarge]: [110, 310, 310], [off]: [200] })
    expect(row('h2o').against).toBe(on)
  })

  it('goes on without a contender that failed, and has no speed-up without stock', async () => {
    const gone = new Error('out of memory')
    const { row, rows, failed, ran } = await run({
      [on]: [gone],
      [off]: [gone],
      [onLarge]: [gone],
      [h2o]: [5, 6, 7],
    })
    expect(failed).toEqual(['out of memory', 'out of memory', 'out of memory'])
    expect(ran).toHaveLength(6)
    expect(rows).toHaveLength(1)
    expect(row('h2o')).toMatchObject({ n: 3, speedup: null, against: null })
  })

  it('without stock, the base is dense attention of our own, at its best', async () => {
    const [dense, denseLarge] = ['dense -b 2048 -ub 512', 'dense -b 2048 -ub 1024']
    const jobs = [job('dense'), job('dense', 1024), job('h2o')]
    const times = { [dense]: [100, 110, 90], [denseLarge]: [200, 210, 220], [h2o]: [50, 22, 30] }
    const { row } = await run(times, {}, jobs)
    expect(row('h2o')).toMatchObject({ against: dense, speedup: { median: 3, min: 2, max: 5 } })
    expect(row('dense').speedup).toEqual({ median: 1, min: 1, max: 1 })
    expect(row('dense', 1024).speedup?.median).toBeCloseTo(0.5, 1)
  })

  it('with stock, it is not, however fast', async () => {
    const jobs = [...group.jobs, job('dense')]
    const { row } = await run({ ...table, 'dense -b 2048 -ub 512': [1, 1, 1] }, {}, jobs)
    expect(row('h2o').against).toBe(on)
  })

  it('ends with the reason of an abort', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const onProgress = () => controller.abort(reason)
    const { measurer } = tableMeasurer(table)
    const runs = runGroups(
      [group],
      {
        ...measurer,
        measure: async (one, signal) => {
          signal.throwIfAborted()
          return measurer.measure(one, signal)
        },
      },
      {
        repetitions: 1,
        prune: 0,
        wantsProfile: () => false,
        signal: controller.signal,
        onProgress,
        onFailure: () => expect.unreachable(),
      },
    )
    await expect(runs.next()).rejects.toBe(reason)
  })

  it('profiles what is left at the end, as shares of the whole', async () => {
    const { row, ran } = await run(table, {
      wantsProfile: ({ contender }) => contender.name !== 'stock-fa-on',
    })
    expect(ran.at(-1)).toBe(`profile ${h2o}`)
    expect(ran.filter((name) => name.startsWith('profile'))).toHaveLength(1)
    expect(row('stock-fa-on').profile).toBeNull()
    const { shares, total_ms, plain_ms } = row('h2o').profile as NonNullable<Row['profile']>
    expect([total_ms, plain_ms]).toEqual([1000, 900])
    // what happened outside the graphs is other
    expect(shares.other).toBeCloseTo(0.2)
    expect(Object.values(shares).reduce((a, b) => a + b)).toBeCloseTo(1)
  })
})

describe('statistics', () => {
  it('take the middle, or the mean of the two in the middle', () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 })
    expect(spread([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 })
    expect(spread([])).toBeUndefined()
  })

  it('pair by repetition', () => {
    const base = new Map([
      [0, 10],
      [2, 40],
    ])
    const own = new Map([
      [0, 5],
      [1, 1],
      [2, 10],
    ])
    expect(pairedRatio(base, own)).toEqual({ median: 3, min: 2, max: 4 })
    expect(pairedRatio(new Map(), own)).toBeUndefined()
  })
})
