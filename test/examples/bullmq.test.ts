/** examples/bullmq on a real Redis (Debian: redis-server). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Job, Queue, QueueEvents, type Worker } from 'bullmq'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cancelJob } from '../../examples/bullmq/cancel.mjs'
import { makeWorker } from '../../examples/bullmq/worker.mjs'
import type { Context } from '../../src/ts/index.js'
import { someText, until } from '../server/support.js'
import { collect, runNode, scratch, tinyContext, tinyModel } from '../ts/support.js'
import { hasRedis, startRedis, type TestRedis } from './redis.js'

const long = someText(7000, 3)
const options = { nPredict: 4, temperature: 0, ignoreEos: true }
const settings = { nCtx: 8192, h2o: { local: 16, heavy: 16, select: 'query' } } as const
const slow = { layers: 8, hidden: 256, heads: 4 }

describe.skipIf(!hasRedis)('a worker for BullMQ', () => {
  let redis: TestRedis
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis[Symbol.asyncDispose]())

  let n = 0
  let name: string
  let queue: Queue
  let events: QueueEvents
  let workers: Worker[]
  beforeEach(async () => {
    name = `queue-${n++}`
    queue = new Queue(name, { connection: redis.connect() })
    events = new QueueEvents(name, { connection: redis.connect() })
    await events.waitUntilReady()
    workers = []
  })
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.close()))
    await Promise.all([events.close(), queue.close()])
  })

  const work = (context: Context) => {
    const worker = makeWorker(context, { queue: name, connection: redis.connect() })
    workers.push(worker)
    return worker
  }
  const add = (prompt: string, attempts = 1): Promise<Job> =>
    queue.add('prompt', { prompt, options }, { attempts })

  async function answer(prompt: string): Promise<string> {
    await using alone = await tinyContext(settings)
    return (await collect(alone.generate(prompt, options))).summary.text
  }

  /** A job whose prompt is being read. */
  async function reading(attempts = 1) {
    const context = await tinyContext({ ...settings, model: await tinyModel(slow, 'slow') })
    work(context)
    const job = await add(long, attempts)
    await until(() => context.position > 0)
    return { context, job }
  }

  /**
   * The engine takes the next call before the prompt is read: the worker looks for what ends it several times a second.
   */
  async function expectFree(context: Context) {
    await context.decode(65)
    expect(context.position).toBeLessThan(long.length)
  }

  it('answers as a fresh context does, tells how far it is, and does not read a beginning again', async () => {
    await using context = await tinyContext(settings)
    work(context)
    const seen: { done: number; total: number }[] = []
    events.on('progress', ({ data }) => seen.push(data as { done: number; total: number }))
    const first = await (await add(long)).waitUntilFinished(events)
    expect(first).toMatchObject({
      text: await answer(long),
      stop: 'length',
      prompt: { cached: 0, path: 'h2o' },
    })
    expect(seen.at(-1)).toEqual({ done: 7000, total: 7000, predicted: 4 })
    const second = await (await add(`${long}more`)).waitUntilFinished(events)
    expect(second.text).toBe(await answer(`${long}more`))
    expect(second.prompt.cached).toBeGreaterThan(6500)
  })

  it('ends a job that is cancelled in mid-prefill, without a retry', async () => {
    const { context, job } = await reading(3)
    expect(await cancelJob(job, redis.connect())).toBe(false)
    await expect(job.waitUntilFinished(events)).rejects.toThrow('cancelled')
    expect(context.position).toBeLessThan(7000)
    await expectFree(context)
    expect((await queue.getJob(job.id as string))?.attemptsMade).toBe(1)
    expect((await queue.getJobCounts('failed', 'delayed', 'waiting')).failed).toBe(1)
    await context.dispose()
  })

  it('ends a job that is removed by force', async () => {
    const { context } = await reading()
    await queue.obliterate({ force: true })
    await until(async () => (await workers[0]?.isRunning()) === true)
    await expectFree(context)
    await context.dispose()
  })

  it('never begins a job that is cancelled while it waits', async () => {
    const { context, job } = await reading()
    const waiting = await add('x')
    expect(await cancelJob(waiting, redis.connect())).toBe(true)
    expect(await queue.getJob(waiting.id as string)).toBeUndefined()
    await cancelJob(job, redis.connect())
    await expect(job.waitUntilFinished(events)).rejects.toThrow('cancelled')
    await context.dispose()
  })

  it('leaves a failed job to another worker', async () => {
    const broken = await tinyContext(settings)
    await broken.dispose()
    const first = work(broken)
    const job = await add(long, 2)
    await new Promise((resolve) => first.once('failed', resolve))
    await first.close()
    await using context = await tinyContext(settings)
    work(context)
    expect((await job.waitUntilFinished(events)).text).toBe(await answer(long))
  })

  it('does not try again what cannot succeed', async () => {
    await using context = await tinyContext(settings)
    work(context)
    const job = await add(someText(9000), 3)
    await expect(job.waitUntilFinished(events)).rejects.toThrow('ERR_H2O_PROMPT_TOO_LONG')
    expect((await queue.getJob(job.id as string))?.attemptsMade).toBe(1)
  })

  it('runs as a program, and ends on SIGTERM', async () => {
    const program = (file: string) => fileURLToPath(new URL(`../../examples/bullmq/${file}`, import.meta.url))
    const env = { ...process.env, REDIS_URL: redis.url, N_CTX: '2048', N_UBATCH: '64' }
    const child = spawn(process.execPath, [program('main.mjs'), await tinyModel(), name], { env })
    const file = scratch('document.txt')
    await writeFile(file, someText(500))
    const asked = await runNode([program('ask.mjs'), file, ' Why?', name], { env })
    expect([asked.code, asked.stderr]).toEqual([0, expect.stringContaining("path: 'h2o'")])
    child.kill('SIGTERM')
    expect((await once(child, 'exit'))[0]).toBe(0)
  })
})
