// --prompt-cache: the state of a context in a file, for the next prompt that begins in the same way.
import { open } from 'node:fs/promises'
import { H2oError } from '../../errors.js'
import type { Context } from '../../index.js'
import type { FlagsOf } from '../flags/option.js'
import type { promptCacheRows } from '../flags/options.js'
import { UsageError } from '../shell/usage-error.js'
import { checkWritable, WholeFile, wrongKind } from '../shell/whole-file.js'

type PromptCacheFlags = FlagsOf<typeof promptCacheRows>

/** What one read or write moves: both have limits of 2 GiB. */
const partBytes = 1 << 28

/**
 * The bytes of the file; undefined if it is empty or not there, as it is the first time.
 *
 * @throws UsageError, also where it could not be written: better now than behind a long prompt
 */
export async function readPromptCache({
  promptCache: path,
  promptCacheRo,
}: PromptCacheFlags): Promise<Buffer | undefined> {
  if (path === undefined) return undefined
  const wrong = await wrongKind(path)
  if (wrong !== undefined) throw new UsageError(`cannot use the prompt cache ${path}: ${wrong}`)
  if (!promptCacheRo)
    await checkWritable(path).catch((error) => {
      throw new UsageError(unwritable(path, error))
    })
  try {
    const file = await open(path)
    try {
      const { size } = await file.stat()
      const bytes = Buffer.allocUnsafe(size)
      let done = 0
      while (done < size) {
        const { bytesRead } = await file.read(bytes, done, Math.min(partBytes, size - done), done)
        if (bytesRead === 0) break
        done += bytesRead
      }
      return done > 0 ? bytes.subarray(0, done) : undefined
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new UsageError(`cannot read the prompt cache ${path}: ${code ?? message}`)
  }
}

/** @throws ERR_H2O_STATE_INVALID that names the file */
export async function loadPromptCache(
  { promptCache: path }: PromptCacheFlags,
  context: Context,
  bytes: Uint8Array,
): Promise<void> {
  try {
    await context.loadState(bytes)
  } catch (error) {
    if (!(error instanceof H2oError) || error.code !== 'ERR_H2O_STATE_INVALID') throw error
    throw new H2oError(error.code, `cannot use the prompt cache ${path}: ${error.message}`, {
      details: error.details,
      hint: 'give the settings that it was written with, or another file; this one is as it was',
      cause: error,
    })
  }
}

/**
 * Writes what the context holds; without `promptCacheAll` up to `position`, where the prompt ended, if the model can go
 * back to there. The file is whole at any time: the new one takes the place of the old one.
 *
 * @throws UsageError where it cannot be written
 */
export async function writePromptCache(
  { promptCache: path, promptCacheAll, promptCacheRo }: PromptCacheFlags,
  context: Context,
  position: number,
): Promise<void> {
  if (path === undefined || promptCacheRo) return
  if (!promptCacheAll && context.position > position) {
    await context.truncate(position).catch((error) => {
      if (error.code !== 'ERR_H2O_POSITION_GONE') throw error
    })
  }
  const bytes = await context.saveState()
  let whole: WholeFile | undefined
  try {
    whole = await WholeFile.open(path)
    for (let at = 0; at < bytes.length; at += partBytes) {
      await whole.file.writeFile(bytes.subarray(at, at + partBytes))
    }
    await whole.finish()
  } catch (error) {
    await whole?.drop()
    throw new Error(unwritable(path, error), { cause: error })
  }
}

function unwritable(path: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return `cannot write the prompt cache ${path}: ${code ?? message}`
}
