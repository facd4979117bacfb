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

  /** Ends those of which nothing is taken for this long, from now on. */
  leaveStalled(ms: number): void {
    for (const response of this.#open) response.setTimeout(ms, () => response.destroy())
  }
}
