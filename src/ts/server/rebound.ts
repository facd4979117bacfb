/**
 * Pages whose name was made to point at this machine (DNS rebinding): to a browser they are of the server's own origin, so
 * it asks nobody before it sends what they say.
 */

import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isLoopback } from './loopback.js'

/** The origin of a page that cannot be one of this machine; undefined where there is none. */
export function reboundOrigin({ headers: { origin }, socket }: IncomingMessage): string | undefined {
  if (origin === undefined || !isLoopback(socket.localAddress ?? '')) return undefined
  if (!URL.canParse(origin)) return undefined
  const { protocol, hostname } = new URL(origin)
  // a browser holds a page by https to the certificate of its name
  return protocol === 'http:' && !isOfThisMachine(hostname) ? origin : undefined
}

/** Neither an address nor a name without a dot can be made to point here from elsewhere. */
const isOfThisMachine = (hostname: string) =>
  isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || !hostname.includes('.') || hostname.endsWith('.localhost')
