/** Who computes when: turns of steps and prompts, without a native context. */

import { expect, it } from 'vitest'
import { type CallKind, Scheduler } from '../../../src/ts/scheduler.js'

/** Calls that end when they are told to. */
function calls() {
  const scheduler = new Scheduler()
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  return {
    scheduler,
    begun,
    ask(name: string, kind: CallKind, sequence: number, priority = 0): Promise<string> {
      return scheduler.run(kind, sequence, priority, () => {
        begun.push(name)
        return new Promise((resolve) => ends.set(name, () => resolve(name)))
      })
    },
    async end(...names: string[]) {
      for (const name of names) ends.get(name)?.()
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    },
  }
}

it('serves every sequence that asks for a token between two calls of prompts', async () => {
  const { scheduler, begun, ask, end } = calls()
  void ask('book 1', 'prompt', 0)
  await end()
  void ask('chat a', 'step', 1)
  void ask('chat b', 'step', 2)
  void ask('book 2', 'prompt', 3)
  expect(begun).toEqual(['book 1'])
  await end('book 1')
  expect(begun.slice(1)).toEqual(['chat a', 'chat b'])
  await end('chat a')
  expect(begun).toHaveLength(3)
  await end('chat b')
  expect(begun.slice(3)).toEqual(['book 2'])
  await end('book 2')
  expect(scheduler.counts).toEqual({ steps: 1, stepCalls: 2, rows: 2, prompts: 2, stalls: 1 })
})

it('owes tokens the time of the last call of a prompt once', async () => {
  const { scheduler } = calls()
  const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
  let answers = true
  const answer = (async () => {
    while (answers) await scheduler.run('step', 1, 0, () => sleep(1))
  })()
  await scheduler.run('prompt', 2, 0, () => sleep(200))
  await sleep(300) // the debt is paid
  const before = scheduler.counts.steps
  await scheduler.run('prompt', 2, 0, () => sleep(1))
  answers = false
  await answer
  expect(scheduler.counts.steps - before).toBeLessThan(20)
})

it('takes prompts by priority, and by turns among equals', async () => {
  const { begun, ask, end } = calls()
  for (const name of ['a1', 'a2', 'b1', 'c1'])
    void ask(name, 'prompt', name.charCodeAt(0), name === 'c1' ? 1 : 0)
  await end()
  for (let i = 0; i < 4; i++) await end(begun.at(-1) as string)
  expect(begun).toEqual(['c1', 'a1', 'b1', 'a2'])
})

it('takes a state or a text as a prompt, and counts it not', async () => {
  const { scheduler, begun, ask, end } = calls()
  void ask('save', 'move', 0)
  await end()
  void ask('token', 'step', 1)
  void ask('load', 'move', 2)
  await end('save')
  expect(begun).toEqual(['save', 'token'])
  await end('token')
  expect(begun).toEqual(['save', 'token', 'load'])
  await end('load')
  expect(scheduler.counts).toEqual({ steps: 1, stepCalls: 1, rows: 1, prompts: 0, stalls: 0 })
})

it('decodes rows that wait together in one call, and a lone one as any', async () => {
  const together: number[][] = []
  const scheduler = new Scheduler(async (rows) => {
    together.push(rows.map(({ token }) => token))
    for (const { token, resolve, reject } of rows) {
      if (token === 3) reject(new Error('of one'))
      else resolve((token * 10) as never)
    }
  })
  const alone = () => Promise.resolve(-1)
  expect(await scheduler.runRow(1, 7, alone)).toBe(-1)
  const book = scheduler.run('prompt', 9, 0, () => new Promise<void>((resolve) => setImmediate(resolve)))
  const rows = [2, 3, 4].map((token) => scheduler.runRow(token, token, alone))
  const other = scheduler.run('step', 5, 0, () => Promise.resolve('other'))
  const results = await Promise.allSettled([...rows, other, book])
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ])
  expect(results[0]).toMatchObject({ value: 20 })
  expect(together).toEqual([[2, 3, 4]])
  expect(scheduler.counts).toMatchObject({ steps: 2, stepCalls: 3, rows: 5 })
})

it('rejects what has not begun, and goes on with the others', async () => {
  const { scheduler, begun, ask, end } = calls()
  const first = ask('a', 'prompt', 1)
  await end()
  const second = ask('b', 'prompt', 1)
  const third = ask('c', 'prompt', 2)
  scheduler.cancel(1)
  await expect(second).rejects.toMatchObject({ code: 'ERR_H2O_INTERRUPTED' })
  await end('a')
  expect(await first).toBe('a')
  scheduler.close(new Error('closed'))
  await end('c')
  expect(await third).toBe('c')
  expect(begun).toEqual(['a', 'c'])
})
