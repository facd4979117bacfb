import { describe, expect, it } from 'vitest'
import { OperationQueue } from '../../src/ts/operation-queue.js'

describe('OperationQueue', () => {
  it('gives one turn at a time, in order', async () => {
    const queue = new OperationQueue()
    const log: string[] = []
    await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const end = await queue.take()
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
    const queue = new OperationQueue()
    const end = await queue.take()
    const abort = new AbortController()
    const second = queue.take(abort.signal)
    const third = queue.take()
    abort.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
    end()
    ;(await third)()
    ;(await queue.take())()
  })

  it('rejects who waits and who comes later when it is closed', async () => {
    const queue = new OperationQueue()
    const end = await queue.take()
    const waiting = queue.take()
    queue.close(new Error('closed'))
    await expect(waiting).rejects.toThrow('closed')
    end()
    await expect(queue.take()).rejects.toThrow('closed')
  })
})
