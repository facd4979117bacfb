/** Who may ask. */

import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export class ApiKeys {
  readonly #digests: Buffer[]

  /** @param keys none: everybody */
  constructor(keys: readonly string[]) {
    this.#digests = keys.map(digest)
  }

  /**
   * Which of the keys the headers hold, as a bearer token or as Anthropic's x-api-key: its index, 0 where there are
   * none, undefined for a wrong one. Takes as long for a wrong key as for a right one.
   */
  keyOf({ authorization, 'x-api-key': plain }: IncomingHttpHeaders): number | undefined {
    if (this.#digests.length === 0) return 0
    const [, bearer] = /^Bearer +(.+)$/i.exec(authorization ?? '') ?? []
    const key = bearer ?? (typeof plain === 'string' ? plain : undefined)
    if (key === undefined) return undefined
    // Node gives bytes as the characters of ISO 8859-1. curl sends UTF-8, fetch sends ISO 8859-1
    const given = [digest(Buffer.from(key, 'latin1')), digest(key)]
    const isKnown = (known: Buffer) => given.filter((one) => timingSafeEqual(known, one)).length > 0
    const [found] = this.#digests.flatMap((known, i) => (isKnown(known) ? [i] : []))
    return found
  }
}

const digest = (key: string | Buffer) => createHash('sha256').update(key).digest()
