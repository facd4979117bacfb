/** How long a request may take: until its client leaves, or its time is over. */

import type { FastifyReply } from 'fastify'
import { ApiError, ClientLeft } from './api-error.js'
import type { Metrics } from './metrics.js'

export interface Limits {
  /** When the request came. */
  began: number
  /** Aborts when the client leaves and when the time is over. */
  signal: AbortSignal
}

/** Of each request. */
export interface LimitSettings {
  /** Milliseconds that a request may take, waiting included. */
  timeoutMs: number
  metrics: Metrics
}

/** Does the work of a request. Resolves with undefined where nobody is there to be answered; throws what it throws. */
export async function limited<T>(
  reply: FastifyReply,
  { timeoutMs, metrics }: LimitSettings,
  work: (limits: Limits) => Promise<T>,
): Promise<T | undefined> {
  const { raw } = reply
  const began = performance.now()
  const controller = new AbortController()
  const { signal } = controller
  const onClose = () => raw.writableFinished || controller.abort(new ClientLeft())
  const timer = setTimeout(() => {
    const message = `the request took more than ${timeoutMs / 1000} seconds`
    // OpenAI's clients would send it again
    controller.abort(new ApiError(504, 'timeout', message, { headers: { 'x-should-retry': 'false' } }))
  }, timeoutMs)
  raw.once('close', onClose)
  if (raw.destroyed) onClose()
  try {
    return await work({ began, signal })
  } catch (error) {
    if (!(signal.reason instanceof ClientLeft)) throw error
    metrics.left()
    reply.hijack()
    raw.destroy()
    return undefined
  } finally {
    clearTimeout(timer)
    raw.removeListener('close', onClose)
  }
}
