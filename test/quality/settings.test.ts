// The declared settings, and how they become calls of `compare`.
import { describe, expect, it } from 'vitest'
import { argvOf, invocations } from '../../bench/quality/invocations.mjs'
import { ablations, distinct, keyOf, main, tails } from '../../bench/quality/settings.mjs'

const all = distinct([
  ...main,
  ...tails,
  ...ablations.flatMap(({ points }) => points.map(({ setting }) => setting)),
])

describe('settings', () => {
  it('are known by what they do, whatever they are called', () => {
    expect(main.map(keyOf)).toEqual(['L=256 H=256', 'two-pass L=256 H=256', 'L=256 H=0', 'L=512 H=0'])
    expect(distinct([...main, ...main])).toEqual(main)
    expect(new Set(all.map(keyOf)).size).toBe(all.length)
  })

  it('stay below the chunk, so that nothing is clamped', () => {
    for (const { S, local, heavy } of all) expect(local + heavy).toBeLessThan(S)
  })
})

describe('invocations', () => {
  it('cover every setting, and few combinations more', () => {
    const calls = invocations(all)
    const combinations = calls.flatMap(({ S, tails, schedules, locals, heavies }) =>
      schedules.flatMap((schedule) =>
        locals.flatMap((local) =>
          heavies.map((heavy) => JSON.stringify({ S, tails, schedule, local, heavy })),
        ),
      ),
    )
    for (const setting of all) {
      const { S, schedule, local, heavy, denseTail = 0 } = setting
      expect(combinations).toContain(JSON.stringify({ S, tails: [denseTail], schedule, local, heavy }))
    }
    expect(combinations.length).toBe(all.length)
    expect(calls.length).toBeLessThan(all.length)
  })

  it('become flags', () => {
    const [first] = invocations(main.slice(0, 2))
    expect(argvOf(first as never).join(' ')).toBe(
      '-ub 1024 --h2o-schedule single-pass,two-pass --h2o-local 256 --h2o-heavy 256 --h2o-dense-tail 0',
    )
  })
})
