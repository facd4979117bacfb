// Files that have their name only when they are whole: what they replace is a file too, and nobody can foresee the name
// that they have until then. They keep its mode.
import { randomUUID } from 'node:crypto'
import { type FileHandle, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** What is wrong with a path that has to be a file, or none yet: a device would be replaced, and a pipe waits for ever. */
export async function wrongKind(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined) // opening it says what is wrong
  return found === undefined || found.isFile() ? undefined : 'it is no regular file'
}

/**
 * Before long work: makes a file where WholeFile will, and removes it. Rejects with what open() rejects with, or with
 * EPERM for a file of another user in a folder like /tmp (sticky): only its owner and the folder's can give its name away.
 */
export async function checkWritable(path: string): Promise<void> {
  const whole = await WholeFile.open(path)
  await whole.drop()
  const user = process.geteuid?.() ?? 0
  const found = await stat(whole.target).catch(() => undefined)
  if (user === 0 || found === undefined) return
  const folder = await stat(dirname(whole.target))
  if (folder.mode & 0o1000 && ![folder.uid, found.uid].includes(user))
    throw Object.assign(new Error(`${whole.target} belongs to another user`), { code: 'EPERM' })
}

/** Where the file lies, or would: a link stays one, also if nothing is behind it yet. */
async function targetOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw error
    const next = await readlink(path).catch(() => undefined)
    return next === undefined ? path : targetOf(resolve(dirname(path), next))
  }
}

export class WholeFile {
  /** where it gets its name */
  readonly target: string
  readonly #part: string
  readonly file: FileHandle

  private constructor(target: string, part: string, file: FileHandle) {
    this.target = target
    this.#part = part
    this.file = file
  }

  /** Rejects with what open() rejects with. */
  static async open(path: string): Promise<WholeFile> {
    const target = await targetOf(path)
    const mode = (await stat(target).catch(() => undefined))?.mode
    const part = target && `${target}.${randomUUID()}.part` // an empty name is no file, and has none beside it
    const whole = new WholeFile(target, part, await open(part, 'wx', (mode ?? 0o666) & 0o777))
    if (mode !== undefined) await whole.file.chmod(mode & 0o777) // which the umask has cut
    return whole
  }

  /** Gives it its name. */
  async finish(): Promise<void> {
    await this.file.close()
    await rename(this.#part, this.target)
  }

  /** Removes what was written. */
  async drop(): Promise<void> {
    await this.file.close().catch(() => {})
    await rm(this.#part, { force: true })
  }
}
