/** The bodies of requests, each within its bound and all of them within one: a server has memory for a few large ones. */

import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream'
import { ApiError } from './api-error.js'

/** Node gives each chunk a buffer of its own, which takes 300 bytes for a single one: so many become one. */
const fewParts = 256

export class Bodies {
  #bytes = 0
  readonly #of = new Map<IncomingMessage, number>()
  /** Those that have not arrived as a whole, and what refuses each. */
  readonly #arriving = new Map<IncomingMessage, (error: ApiError) => void>()
  readonly most: number

  /** @param largest bytes of one */
  constructor(readonly largest: number) {
    this.most = Math.max(4 * largest, 2 ** 26)
  }

  /** Of requests that have not been answered. */
  get bytes(): number {
    return this.#bytes
  }

  /** Throws ApiError: 413 and 429, and 400 for one that does not arrive. It counts until its request is left(). */
  receive(request: IncomingMessage): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const parts: Buffer[] = []
      const latest: Buffer[] = []
      const stop = finished(request, (error) => {
        if (error) return refuse(new ApiError(400, 'invalid_request', 'the body did not arrive'))
        stop()
        this.#arriving.delete(request)
        resolve(Buffer.concat([...parts, ...latest]))
      })
      const onData = (part: Buffer) => {
        latest.push(part)
        if (latest.length === fewParts) parts.push(Buffer.concat(latest.splice(0)))
        const bytes = (this.#of.get(request) ?? 0) + part.length
        this.#of.set(request, bytes)
        this.#bytes += part.length
        if (bytes > this.largest) return refuse(tooLarge())
        while (this.#bytes > this.most && this.#arriving.has(request)) this.#refuseLargest()
      }
      const refuse = (error: ApiError) => {
        stop()
        this.#arriving.delete(request)
        this.left(request)
        request.off('data', onData) // Node reads the rest when it has sent the answer
        reject(error)
      }
      this.#arriving.set(request, refuse)
      if (Number(request.headers['content-length']) > this.largest) return refuse(tooLarge())
      request.on('data', onData)
    })
  }

  /** It has been answered, or its client has gone. */
  left(request: IncomingMessage): void {
    this.#bytes -= this.#of.get(request) ?? 0
    this.#of.delete(request)
  }

  /** Of those that arrive: who sends much of a few and then nothing keeps nobody out. */
  #refuseLargest(): void {
    const bytes = ([request]: [IncomingMessage, unknown]) => this.#of.get(request) ?? 0
    const [, refuse] = [...this.#arriving].reduce((most, one) => (bytes(one) > bytes(most) ? one : most))
    refuse(tooMany())
  }
}

const tooLarge = () => new ApiError(413, 'request_too_large', 'the body is too large')

function tooMany(): ApiError {
  const message = 'other requests have large bodies; there is room for this one when they are answered'
  return new ApiError(429, 'too_many_requests', message, { headers: { 'retry-after': '1' } })
}
