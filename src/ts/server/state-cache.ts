/** States of contexts in memory, so many bytes at most: the one that was saved or found first goes first. */

/** What a context held. */
export interface SavedState {
  /** A prompt that begins with them need not read them. */
  tokens: Int32Array
  /** Whose prompts they are: nobody else is given the state. */
  owner: unknown
  state: Uint8Array
}

export class StateCache {
  /** The oldest is first. */
  #saved: SavedState[] = []
  #bytes = 0
  /** For states that are being saved. */
  #reserved = 0
  #evicted = 0

  constructor(readonly limitBytes: number) {}

  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#saved.length
  }

  /** States that had to go for others. */
  get evicted(): number {
    return this.#evicted
  }

  /** The one that offers a prompt most, and how much. */
  best(
    owner: unknown,
    offers: (tokens: Int32Array) => number,
  ): { saved: SavedState; tokens: number } | undefined {
    let best: { saved: SavedState; tokens: number } | undefined
    for (const saved of this.#saved) {
      if (saved.owner !== owner) continue
      const tokens = offers(saved.tokens)
      if (tokens > (best?.tokens ?? 0)) best = { saved, tokens }
    }
    return best
  }

  /** Whether one begins with these tokens. */
  covers(owner: unknown, tokens: Int32Array): boolean {
    return this.#saved.some((saved) => saved.owner === owner && begins(saved.tokens, tokens))
  }

  /** Takes it out: what is in a context is not here as well. */
  take(saved: SavedState): void {
    this.#saved = this.#saved.filter((other) => other !== saved)
    this.#bytes -= sizeOf(saved)
  }

  /**
   * Keeps the state that `make` makes, if it makes one. It says how many bytes that will take, and makes none where
   * there is no room for so much.
   */
  async keep(
    make: (hasRoomFor: (bytes: number) => boolean) => Promise<SavedState | undefined>,
  ): Promise<SavedState | undefined> {
    let reserved = 0
    let saved: SavedState | undefined
    const reserve = (bytes: number) => {
      if (!this.#makeRoom(bytes)) return false
      this.#reserved += bytes
      reserved += bytes
      return true
    }
    try {
      saved = await make(reserve)
    } finally {
      this.#reserved -= reserved
    }
    if (saved) this.put(saved)
    return saved
  }

  /** Beside what is being saved, were nothing else here. */
  #hasRoom(bytes: number): boolean {
    return this.#reserved + bytes <= this.limitBytes
  }

  /** Lets go of old ones until there is room; false if there is none for so much. */
  #makeRoom(bytes: number): boolean {
    if (!this.#hasRoom(bytes)) return false
    while (this.#bytes + this.#reserved + bytes > this.limitBytes) {
      this.take(this.#saved[0] as SavedState)
      this.#evicted++
    }
    return true
  }

  /** Keeps it, in place of those that it covers, unless it is too large. */
  put(saved: SavedState): void {
    if (!this.#hasRoom(sizeOf(saved))) return
    const covered = ({ owner, tokens }: SavedState) => owner === saved.owner && begins(saved.tokens, tokens)
    for (const other of this.#saved.filter(covered)) this.take(other)
    this.#makeRoom(sizeOf(saved))
    this.#saved.push(saved)
    this.#bytes += sizeOf(saved)
  }
}

const sizeOf = ({ state, tokens }: SavedState) => state.byteLength + tokens.byteLength

function begins(tokens: Int32Array, beginning: Int32Array): boolean {
  if (beginning.length > tokens.length) return false
  for (let i = 0; i < beginning.length; i++) if (tokens[i] !== beginning[i]) return false
  return true
}
