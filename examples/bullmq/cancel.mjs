/** Cancelling a job, whether it waits or runs. */

/** A key in Redis: the job is not wanted any more. */
export const cancelKey = (queue, id) => `h2o:cancel:${queue}:${id}`

/** Longer than any job takes, retries included. */
const SECONDS = 24 * 3600

/**
 * A job that waits is removed: true. One that runs ends within a chunk and fails with 'cancelled', without a retry:
 * false.
 *
 * @param {import('bullmq').Job} job
 * @param {import('ioredis').Redis} connection
 */
export async function cancelJob(job, connection) {
  try {
    await job.remove()
    return true
  } catch (error) {
    if (await job.isCompleted()) throw error
    await connection.set(cancelKey(job.queueName, job.id), 1, 'EX', SECONDS)
    return false
  }
}
