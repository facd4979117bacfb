/** Who may ask. */

import { createHash, timingSafeEqual } from 'node:crypto'

export class ApiKeys {
  readonly #digests: Buffer[]

  /** @param keys none: everybody */
  constructor(keys: readonly string[]) {
    this.#digests = keys.map(digest)
  }

  /** Whether the header holds one of the keys, as a bearer token. Takes as long for a wrong key as for a right one. */
  admits(authorization: string | undefined): boolean {
    if (this.#digests.length === 0) return true
    const [, key] = /^Bearer +(.+)$/i.exec(authorization ?? '') ?? []
    if (key === undefined) return false
    const given = digest(key.trim())
    return this.#digests.filter((known) => timingSafeEqual(known, given)).length > 0
  }
}

const digest = (key: string) => createHash('sha256').update(key).digest()
