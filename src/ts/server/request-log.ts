/** One line for each request, when it has ended. Texts, keys and queries of URLs are not in it. */

import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Course } from './course.js'

/** What probes ask every few seconds. */
const probes = new Set(['/health', '/v1/health', '/ready', '/metrics'])

export class RequestLog {
  readonly #notes = new WeakMap<ServerResponse, string | Course>()

  constructor(readonly write: (line: string) => void) {}

  /** What is said of a request beside its status: the last of these. */
  note(response: ServerResponse, note: string | Course): void {
    this.#notes.set(response, note)
  }

  /** For a request that has just begun. */
  follow({ raw: { method }, url, routeOptions }: FastifyRequest, response: ServerResponse): void {
    if (probes.has(routeOptions.url ?? '')) return
    const began = performance.now()
    response.once('close', () => {
      const { writableFinished, statusCode } = response
      const seconds = ((performance.now() - began) / 1000).toFixed(2)
      const note = this.#notes.get(response)
      const line = [
        `${method} ${shown(url)}`,
        writableFinished ? statusCode : 'the client left',
        `${seconds} s`,
        ...(note === undefined ? [] : [String(note)]),
      ]
      this.write(line.join(', '))
    })
  }
}

/** The path of a URL, in one word of ASCII. */
const shown = (url: string) =>
  url
    .replace(/\?.*/s, '')
    .replace(/[^!-~]/g, '?')
    .slice(0, 100)
