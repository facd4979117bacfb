import { describe, expect, it } from 'vitest'
import { OperationQueue } from '../../../src/ts/operation-queue.js'

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

  it('gives what is smaller the next turn', async () => {
    const queue = new OperationQueue()
    const begun: string[] = []
    const sizes = { runs: 9, large: 9, larger: 10, small: 1, equal: 9, smaller: 0 }
    await Promise.all(
      Object.entries(sizes).map(async ([name, size]) => {
        const end = await queue.take(undefined, 'alone', size)
        begun.push(name)
        await new Promise(setImmediate)
        end()
      }),
    )
    expect(begun).toEqual(['runs', 'smaller', 'small', 'large', 'equal', 'larger'])
  })

  it('gives several turns of a kind beside each other, and one alone between them', async () => {
    const queue = new OperationQueue(2)
    const begun: string[] = []
    const ask = async (name: string, signal?: AbortSignal) => {
      const end = await queue.take(signal, name === name.toUpperCase() ? 'alone' : 'beside')
      begun.push(name)
      return end
    }
    const abort = new AbortController()
    const turns = ['a', 'b', 'c', 'D', 'e'].map((name) => ask(name, name === 'D' ? abort.signal : undefined))
    const settle = () => new Promise(setImmediate)
    await settle()
    expect(begun).toEqual(['a', 'b'])
    ;(await turns[1])?.()
    await settle()
    expect(begun).toEqual(['a', 'b', 'c'])
    ;(await turns[0])?.()
    await settle()
    expect(begun).toEqual(['a', 'b', 'c']) // D waits for c, and e for D
    const gone = expect(turns[3]).rejects.toThrow('enough')
    abort.abort(new Error('enough'))
    await gone
    expect(begun).toEqual(['a', 'b', 'c', 'e'])
    const last = ask('F')
    for (const turn of [turns[2], turns[4]]) (await turn)?.()
    ;(await last)()
    expect(begun.at(-1)).toBe('F')
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
