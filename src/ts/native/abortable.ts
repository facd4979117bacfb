/** Work of the addon on a thread of its own. */

import { callNative, fromNative } from '../errors.js'
import type { NativeWork } from './surface.js'

/** An abort ends it, and rejects with the signal's reason. */
export async function abortable<T>(start: () => NativeWork<T>, signal: AbortSignal | undefined): Promise<T> {
  signal?.throwIfAborted()
  const { result, abort } = callNative(start)
  signal?.addEventListener('abort', abort)
  try {
    return await result
  } catch (error) {
    signal?.throwIfAborted()
    throw fromNative(error)
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}
