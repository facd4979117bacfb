/** Bytes in, whole characters out: a character that is split over tokens appears when its last byte is there. */

export class Utf8Stream {
  // ignoreBOM keeps a byte order mark, which is text like any other here
  #decoder = new TextDecoder('utf-8', { ignoreBOM: true })

  /** The characters that are complete now. Bytes that can never become one are U+FFFD. */
  push(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes, { stream: true })
  }

  /** U+FFFD if an incomplete character was left over, else ''. */
  flush(): string {
    return this.#decoder.decode()
  }
}
