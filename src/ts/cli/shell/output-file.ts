// The file that a report goes to.
import { type FileHandle, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { UsageError } from './usage-error.js'
import { checkWritable, WholeFile, wrongKind } from './whole-file.js'

/**
 * Before a prefill that takes minutes: can the file be written?
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
  if ((await wrongKind(path)) !== undefined) return // a device
  await checkWritable(path).catch(({ code, message }) => {
    throw new UsageError(`${flag} ${path} cannot be written: ${code ?? message}`)
  })
}

/** What a command reads, as its flags have it. */
export interface Inputs {
  model?: string
  file?: string
  klDivergenceBase?: string
}

/** @throws UsageError where the file would take the place of one that is read */
export async function checkNoInput(
  flag: string,
  path: string,
  { model, file, klDivergenceBase }: Inputs,
): Promise<void> {
  const inputs = { '-m': model, '-f': file, '--kl-divergence-base': klDivergenceBase }
  const target = await stat(path).catch(() => undefined)
  if (!target?.isFile()) return
  for (const [name, input] of Object.entries(inputs)) {
    const found = input === undefined ? undefined : await stat(input).catch(() => undefined)
    if (found && found.dev === target.dev && found.ino === target.ino) {
      throw new UsageError(
        `${flag} ${path} is the file that ${name} names`,
        'name another one: it would be lost',
      )
    }
  }
}

async function kindOf(path: string): Promise<'folder' | 'other' | 'nothing'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'other'
  } catch {
    return 'nothing'
  }
}

/**
 * Writes the parts one after the other and gives the bytes; Ctrl-C is heard in between. What was there stays until all of
 * it is written.
 */
export async function writeParts(
  path: string,
  parts: Iterable<string>,
  signal: AbortSignal,
): Promise<number> {
  try {
    const isFile = (await wrongKind(path)) === undefined
    return await (isFile ? writeFile(path, parts, signal) : writeDevice(path, parts, signal))
  } catch (error) {
    if (signal.aborted) throw error
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(`cannot write ${path}: ${code ?? message}`, { cause: error })
  }
}

async function writeFile(path: string, parts: Iterable<string>, signal: AbortSignal): Promise<number> {
  const whole = await WholeFile.open(path)
  try {
    const bytes = await writeTo(whole.file, parts, signal)
    await whole.finish()
    return bytes
  } catch (error) {
    await whole.drop()
    throw error
  }
}

async function writeDevice(path: string, parts: Iterable<string>, signal: AbortSignal): Promise<number> {
  const file = await open(path, 'w')
  try {
    return await writeTo(file, parts, signal)
  } finally {
    await file.close()
  }
}

async function writeTo(file: FileHandle, parts: Iterable<string>, signal: AbortSignal): Promise<number> {
  let bytes = 0
  for (const part of parts) {
    bytes += Buffer.byteLength(part)
    await file.writeFile(part)
    await setImmediate()
    signal.throwIfAborted()
  }
  return bytes
}
