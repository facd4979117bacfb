/** Calls from inside the loop over generate() would wait for the loop; calls from elsewhere wait for their turn. */

import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Context } from '../../../src/ts/index.js'
import { collect, tinyContext } from '../support.js'

/** Something to wait for, and what ends the wait. */
function signal(): [reached: Promise<void>, reach: () => void] {
  let reach = () => {}
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  return [reached, reach]
}

const inside = { code: 'ERR_H2O_INSIDE_GENERATE' }
const endless = { ignoreEos: true, temperature: 0 } as const

describe('inside the loop over generate()', () => {
  it('every call on the context is refused, and the loop goes on', async () => {
    await using context = await tinyContext()
    const calls: ((c: Context) => Promise<unknown>)[] = [
      (c) => c.prefill('x'),
      (c) => c.decode(65),
      (c) => collect(c.generate('x', { nPredict: 1 })),
      (c) => c.truncate(0),
      (c) => c.removeRange(0, 1),
      (c) => c.clear(),
      (c) => c.saveState(),
      (c) => c.loadState(new Uint8Array(10)),
      async (c) => {
        await sleep(1)
        await c.prefill('deeper')
      },
    ]
    let seen = 0
    for await (const _ of context.generate('abc', { ...endless, nPredict: 2 * calls.length })) {
      const call = calls[seen++ % calls.length] as (typeof calls)[number]
      await expect(call(context)).rejects.toMatchObject(inside)
    }
    expect(seen).toBe(2 * calls.length)
    expect((await context.prefill('free again')).tokens).toBe(10)
  })

  it('another context serves, and one loop may run in another', async () => {
    await using outer = await tinyContext()
    await using inner = await tinyContext()
    for await (const _ of outer.generate('abc', { ...endless, nPredict: 3 })) {
      expect((await inner.prefill('abc')).tokens).toBe(3)
      for await (const _ of inner.generate('abc', { ...endless, nPredict: 2 })) {
        await expect(outer.clear()).rejects.toMatchObject(inside)
        await expect(inner.clear()).rejects.toMatchObject(inside)
      }
      await inner.clear()
    }
    await outer.clear()
  })

  it('a loop by hand counts too', async () => {
    await using context = await tinyContext()
    const tokens = context.generate('abc', { ...endless, nPredict: 2 })
    for (let step = await tokens.next(); !step.done; step = await tokens.next()) {
      expect(step.value.token).toBeLessThan(258)
      await expect(context.clear()).rejects.toMatchObject(inside)
    }
    await context.clear()
  })

  it('disposing is allowed', async () => {
    const context = await tinyContext()
    const run = async () => {
      for await (const _ of context.generate('abc', endless)) await context.dispose()
    }
    await expect(run()).rejects.toMatchObject({ code: 'ERR_H2O_DISPOSED' })
  })
})

describe('outside of it, calls wait', () => {
  it('of one who called the consumer', async () => {
    await using context = await tinyContext()
    const [atToken, reached] = signal()
    const [called, haveCalled] = signal()
    const consume = async () => {
      let n = 0
      for await (const _ of context.generate('abc', { ...endless, nPredict: 5 })) {
        reached()
        await called // the loop is at a token when the others call
        n++
      }
      return n
    }
    const first = consume()
    await atToken
    const second = consume()
    const third = context.prefill('abcd')
    haveCalled()
    expect(await Promise.all([first, second, third])).toMatchObject([5, 5, { tokens: 4 }])
  })

  it('of what was begun in an earlier round', async () => {
    await using context = await tinyContext()
    let later: Promise<unknown> | undefined
    let seen = 0
    const [secondRound, begin] = signal()
    const [called, haveCalled] = signal()
    for await (const _ of context.generate('abc', { ...endless, nPredict: 4 })) {
      later ??= secondRound.then(() => {
        const waiting = context.prefill('abcd')
        haveCalled()
        return waiting
      })
      if (++seen === 2) {
        begin()
        await called
      }
    }
    expect(await later).toMatchObject({ tokens: 4 })
  })

  it('behind a loop that was left', async () => {
    await using context = await tinyContext()
    for await (const _ of context.generate('abc', endless)) break
    await context.clear()
    const leave = async () => {
      for await (const _ of context.generate('abc', endless)) throw new Error('enough')
    }
    await expect(leave()).rejects.toThrow('enough')
    await context.clear()
  })

  it('behind a generator that nobody holds any more', async () => {
    setFlagsFromString('--expose-gc')
    const gc: () => void = runInNewContext('gc')
    await using context = await tinyContext()
    const begin = async () => {
      const { done } = await context.generate('abc', endless).next()
      expect(done).toBe(false)
    }
    await begin()
    const waiting = context.prefill('abcd')
    let read: unknown
    void waiting.then((result) => {
      read = result
    })
    while (!read) {
      gc()
      await sleep(5)
    }
    expect(read).toMatchObject({ tokens: 4 })
  })
})
