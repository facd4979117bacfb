// The file that the heat maps go to.
import { open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { UsageError } from '../shell/usage-error.js'

/**
 * Before a prefill that takes minutes: is there a folder that the file can go to?
 *
 * @throws UsageError
 */
export async function checkTarget(flag: string, path: string): Promise<void> {
  if (path === '') throw new UsageError(`${flag} names no file`)
  if ((await kindOf(path)) === 'folder')
    throw new UsageError(`${flag} ${path} is a directory`, 'name a file in it')
  const folder = dirname(path)
  if ((await kindOf(folder)) !== 'folder')
    throw new UsageError(`${flag} ${path}: there is no directory ${folder}`)
}

async function kindOf(path: string): Promise<'folder' | 'other' | 'nothing'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'other'
  } catch {
    return 'nothing'
  }
}

/** Writes the parts one after the other and gives the bytes; Ctrl-C is heard in between. */
export async function writeParts(
  path: string,
  parts: Iterable<string>,
  signal: AbortSignal,
): Promise<number> {
  let bytes = 0
  try {
    const file = await open(path, 'w')
    try {
      for (const part of parts) {
        bytes += Buffer.byteLength(part)
        await file.write(part)
        await setImmediate()
        signal.throwIfAborted()
      }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (signal.aborted) throw error
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(`cannot write ${path}: ${code ?? message}`, { cause: error })
  }
  return bytes
}
