import { describe, expect, it } from 'vitest'
import { Turns } from '../../src/ts/turns.js'

describe('Turns', () => {
  it('gives one turn at a time, in order', async () => {
    const turns = new Turns()
    const log: string[] = []
    await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const end = await turns.take()
        log.push(`${name} begins`)
        await new Promise((resolve) => setTimeout(resolve, 2))
        log.push(`${name} ends`)
        end()
        end() // a second time does nothing
      }),
    )
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  })

  it('lets go of a place in the queue on abort', async () => {
    const turns = new Turns()
    const end = await turns.take()
    const abort = new AbortController()
    const second = turns.take(abort.signal)
    const third = turns.take()
    abort.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
    end()
    ;(await third)()
    ;(await turns.take())()
  })

  it('rejects who waits and who comes later when it is closed', async () => {
    const turns = new Turns()
    const end = await turns.take()
    const waiting = turns.take()
    turns.close(new Error('closed'))
    await expect(waiting).rejects.toThrow('closed')
    end()
    await expect(turns.take()).rejects.toThrow('closed')
  })
})
