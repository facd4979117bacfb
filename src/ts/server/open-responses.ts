/** Responses that clients have not taken to their end: an answer is made long before a slow client has it. */

import type { ServerResponse } from 'node:http'

export class OpenResponses {
  readonly #open = new Set<ServerResponse>()

  add(response: ServerResponse): void {
    this.#open.add(response)
    response.once('close', () => this.#open.delete(response))
  }

  get count(): number {
    return this.#open.size
  }

  /** Ends those whose requests have not arrived by then. */
  leaveUnasked(ms: number): void {
    const leave = () => {
      for (const response of this.#open) if (!response.req.complete) response.destroy()
    }
    setTimeout(leave, ms).unref()
  }
}
