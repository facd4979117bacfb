// The declared settings, and how they become calls of `compare`.
import { describe, expect, it } from 'vitest'
import { argvOf, invocations } from '../../bench/quality/invocations.mjs'
import { ablations, distinct, front, keyOf, main, tails } from '../../bench/quality/settings.mjs'

const all = distinct([
  ...main,
  ...tails,
  ...front,
  ...ablations.flatMap(({ points }) => points.map(({ setting }) => setting)),
])

describe('settings', () => {
  it('are known by what they do, whatever they are called', () => {
    expect(main.map(keyOf)).toEqual([
      'L=256 H=256',
      'query L=256 H=256',
      'two-pass L=256 H=256',
      'L=256 H=0',
      'L=512 H=0',
    ])
    expect(distinct([...main, ...main])).toEqual(main)
    expect(new Set(all.map(keyOf)).size).toBe(all.length)
  })

  it('stay below the chunk, so that nothing is clamped', () => {
    for (const { S, select, local, heavy } of all)
      expect(select === 'votes' ? local + heavy : local).toBeLessThan(S)
  })
})

describe('invocations', () => {
  it('cover every setting, and few combinations more', () => {
    const calls = invocations(all)
    const combinations = calls.flatMap(({ S, tails, schedules, selects, locals, heavies }) =>
      schedules.flatMap((schedule) =>
        selects.flatMap((select) =>
          locals.flatMap((local) =>
            heavies.map((heavy) => JSON.stringify({ S, tails, schedule, select, local, heavy })),
          ),
        ),
      ),
    )
    for (const setting of all) {
      const { S, schedule, select, local, heavy, denseTail = 0 } = setting
      expect(combinations).toContain(
        JSON.stringify({ S, tails: [denseTail], schedule, select, local, heavy }),
      )
    }
    expect(combinations.length).toBe(all.length)
    expect(calls.length).toBeLessThan(all.length)
  })

  it('become flags', () => {
    const [first] = invocations(main.filter(({ select, heavy }) => select === 'votes' && heavy > 0))
    expect(argvOf(first as never).join(' ')).toBe(
      '-ub 1024 --h2o-schedule single-pass,two-pass --h2o-select votes --h2o-local 256 --h2o-heavy 256 --h2o-dense-tail 0',
    )
  })
})
