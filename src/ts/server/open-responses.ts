/** Responses that clients have not taken to their end: an answer is made long before a slow client has it. */

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from './api-error.js'

/** Of a connection, without an answer: all of them are begun before any other connection has a turn. */
const most = 16

export class OpenResponses {
  readonly #open = new Set<ServerResponse>()
  /** Several of a connection, where a client sends requests before it has their answers. */
  readonly #of = new WeakMap<Socket, Set<ServerResponse>>()

  /** Throws ApiError 429 where its connection has too many. */
  add(response: ServerResponse): void {
    const { socket } = response.req
    const ofSocket = this.#of.get(socket) ?? this.#follow(socket)
    for (const set of [this.#open, ofSocket]) {
      set.add(response)
      response.once('close', () => set.delete(response))
    }
    if (ofSocket.size <= most) return
    const message = `a connection may have ${most} requests without an answer`
    throw new ApiError(429, 'too_many_requests', message, { headers: { connection: 'close' } })
  }

  /** Whether a part of one has been sent, and the rest has not. */
  isBegun(socket: Socket): boolean {
    return [...(this.#of.get(socket) ?? [])].some(({ headersSent }) => headersSent)
  }

  /** Tells whether those that are open now have all been taken, whatever is asked later. */
  watch(): () => boolean {
    const begun = [...this.#open]
    return () => !begun.some((response) => this.#open.has(response))
  }

  /** Ends those whose requests have not arrived by then. */
  leaveUnasked(ms: number): void {
    const leave = () => {
      for (const response of this.#open) if (!response.req.complete) response.destroy()
    }
    setTimeout(leave, ms).unref()
  }

  /** Node tells only the first response of a connection that it has ended, and those behind it would be worked on. */
  #follow(socket: Socket): Set<ServerResponse> {
    const responses = new Set<ServerResponse>()
    this.#of.set(socket, responses)
    socket.once('close', () => {
      for (const response of responses) if (!response.destroyed) response.destroy().emit('close')
    })
    return responses
  }
}
