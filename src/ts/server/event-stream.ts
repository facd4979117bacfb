/** Server-sent events: one JSON object each, as fast as the client takes them. */

import { once } from 'node:events'
import type { FastifyReply } from 'fastify'
import type { ServerEvent } from './shapes/shape.js'

/** A comment now and then, so that nothing between takes a long prefill for a dead connection. */
const pingMs = 10_000

/** For a socket: its timer begins anew, once, where a part of what waits was taken meanwhile. */
export const stallTimeout = (stalledMs: number) => stalledMs / 2

export class EventStream {
  readonly #raw: FastifyReply['raw']
  readonly #ping: NodeJS.Timeout

  constructor(
    reply: FastifyReply,
    readonly stalledMs: number,
  ) {
    const headers = {
      ...reply.getHeaders(),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no', // nginx
    }
    reply.hijack()
    this.#raw = reply.raw
    this.#raw.on('error', () => {}) // a client that left; its request is aborted elsewhere
    this.#raw.writeHead(200, headers as Record<string, string>)
    this.#raw.flushHeaders()
    this.#ping = setInterval(() => this.#raw.writableNeedDrain || this.#raw.write(': ping\n\n'), pingMs)
  }

  /**
   * Resolves when there is room for more; rejects with the signal's reason. The connection of a client that takes
   * nothing of it for `stalledMs` is closed, since a context waits for it.
   */
  async send(event: ServerEvent, signal: AbortSignal): Promise<void> {
    if (this.#raw.write(written(event)) || this.#raw.destroyed) return
    this.#raw.setTimeout(stallTimeout(this.stalledMs))
    try {
      await emitted(this.#raw, 'drain', signal)
    } finally {
      this.#raw.setTimeout(0)
    }
  }

  /** For what may be left out: says it if there is room. */
  offer(event: ServerEvent): void {
    if (!this.#raw.writableNeedDrain) this.#raw.write(written(event))
  }

  end(): void {
    clearInterval(this.#ping)
    this.#raw.setTimeout(stallTimeout(this.stalledMs))
    this.#raw.end()
  }
}

/** Rejects with the signal's reason. */
export async function emitted(raw: FastifyReply['raw'], event: string, signal: AbortSignal): Promise<void> {
  try {
    await once(raw, event, { signal })
  } catch (error) {
    signal.throwIfAborted()
    throw error
  }
}

function written({ name, data }: ServerEvent): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`
}
