/** node ask.mjs FILE QUESTION [QUEUE]: one job, its progress, its answer. Ctrl-C cancels it. */

import { readFile } from 'node:fs/promises'
import { Queue, QueueEvents } from 'bullmq'
import { Redis } from 'ioredis'
import { cancelJob } from './cancel.mjs'

const [file, question = '', name = 'prompts'] = process.argv.slice(2)
if (!file) {
  console.error('usage: node ask.mjs FILE QUESTION [QUEUE]')
  process.exit(2)
}
const connection = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', {
  maxRetriesPerRequest: null,
})
const queue = new Queue(name, { connection })
const listening = connection.duplicate()
const events = new QueueEvents(name, { connection: listening })

const prompt = (await readFile(file, 'utf8')) + question
const job = await queue.add(
  'ask',
  { prompt, options: { nPredict: 64, temperature: 0 } },
  { attempts: 3, backoff: { type: 'exponential', delay: 1000 }, removeOnComplete: 1000, removeOnFail: 1000 },
)
process.once('SIGINT', async () => {
  if (await cancelJob(job, connection)) process.exit(1) // it was waiting: nothing will say that it ended
})
events.on('progress', ({ jobId, data }) => {
  if (jobId === job.id) console.error(`${data.done} of ${data.total} tokens, ${data.predicted} generated`)
})

try {
  const { text, ...rest } = await job.waitUntilFinished(events)
  console.log(text)
  console.error(rest)
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  await events.close()
  await queue.close()
  listening.disconnect()
  connection.disconnect()
}
