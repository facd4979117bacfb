/** Long texts in UTF-8: where characters are not ASCII, 16 MiB would hold the event loop for 80 milliseconds. */

import { StringDecoder } from 'node:string_decoder'
import { setImmediate as nextTurn } from 'node:timers/promises'

const slice = 2 ** 20

export function* slicesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += slice) yield bytes.subarray(at, at + slice)
}

/** Others have their turns between slices. */
export async function decodeInTurns(slices: Iterable<Buffer>): Promise<string> {
  const decoder = new StringDecoder()
  const texts: string[] = []
  for (const part of slices) {
    texts.push(decoder.write(part))
    await nextTurn()
  }
  return [...texts, decoder.end()].join('')
}
