/** A BullMQ worker on one context: progress, cancel and retry of prompts. */

import { UnrecoverableError, Worker } from 'bullmq'
import { cancelKey } from './cancel.mjs'

/** Milliseconds between two looks at Redis while a job runs. */
const INTERVAL = 200

/** A retry cannot mend these. */
const permanent = new Set([
  'ERR_H2O_CHAT_TEMPLATE',
  'ERR_H2O_EMPTY_PROMPT',
  'ERR_H2O_INVALID_ARGUMENT',
  'ERR_H2O_PROMPT_TOO_LONG',
  'ERR_H2O_SAMPLING',
  'ERR_H2O_TOKEN_OUT_OF_RANGE',
])

/**
 * Jobs are `{ prompt, options }`, the arguments of Context.generate(); progress is `{ done, total, predicted }` in
 * tokens. A job's result is `{ text, stop, predicted, prompt: { tokens, cached, path, reason }, ttftMs }`.
 *
 * @param {Pick<import('h2o-llama').Context, 'generate'>} context
 * @param {{ queue: string, connection: import('ioredis').Redis }} options connection: maxRetriesPerRequest null
 */
export function makeWorker(context, { queue, connection, ...options }) {
  // a context answers one prompt at a time; more contexts on one model make more workers
  const settings = { ...options, connection, concurrency: 1 }
  const worker = new Worker(queue, (job, _token, signal) => run(context, connection, job, signal), settings)
  // another worker has the job now, or will have it
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'the lock was lost')
  })
  worker.on('error', (error) => console.error(error.message))
  return worker
}

async function run(context, connection, job, lost) {
  const cancel = new AbortController()
  const signal = AbortSignal.any([lost, cancel.signal])
  const progress = { done: 0, total: 0, predicted: 0 }
  const watch = watching(connection, job, progress, (why) => cancel.abort(new UnrecoverableError(why)))
  try {
    await watch.look() // it may have been cancelled between two attempts
    signal.throwIfAborted()
    const { prompt, options } = job.data
    const onProgress = ({ done, total }) => Object.assign(progress, { done, total })
    const generation = context.generate(prompt, { ...options, signal, onProgress })
    for (;;) {
      const { done, value } = await generation.next()
      if (done) return await result(value, watch)
      progress.predicted++
    }
  } catch (error) {
    throw unlessPermanent(signal.aborted ? signal.reason : error)
  } finally {
    watch.stop()
  }
}

async function result({ text, stop, predicted, prefill, timings }, watch) {
  await watch.look()
  const { tokens, cached, path, reason } = prefill
  return { text, stop, predicted, prompt: { tokens, cached, path, reason }, ttftMs: timings.ttftMs }
}

/** Tells Redis how far the job is, and asks whether it is still wanted. */
function watching(connection, job, progress, abort) {
  let said = ''
  const look = async () => {
    if (await connection.exists(cancelKey(job.queueName, job.id))) abort('cancelled')
    const now = JSON.stringify(progress)
    if (now === said) return
    said = now
    await job.updateProgress(progress)
  }
  let looking = false
  const timer = setInterval(async () => {
    if (looking) return // Redis is slow, or away: the job goes on
    looking = true
    await look().catch((error) => abort(error.message)) // the job was removed
    looking = false
  }, INTERVAL)
  return { look, stop: () => clearInterval(timer) }
}

function unlessPermanent(error) {
  if (!permanent.has(error?.code)) return error
  return new UnrecoverableError(`${error.code}: ${error.message}`)
}
