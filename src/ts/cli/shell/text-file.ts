// Texts that flags name files of: prompts, templates, grammars, schemas, keys.
import { createReadStream } from 'node:fs'
import { UsageError } from './usage-error.js'

/** @param what 'the chat template ', or nothing */
export async function readTextFile(path: string, what = ''): Promise<string> {
  return (await readFileBytes(path, `${what}${path}`)).toString('utf8')
}

/** @param name of the file in errors */
export async function readFileBytes(path: string, name: string): Promise<Buffer> {
  try {
    return await readAll(createReadStream(path), name)
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`cannot read ${name}: ${whyUnreadable(error)}`)
  }
}

/** No context holds so long a text, and a pipe or a device may never end. */
const mostBytes = 2 ** 28

export async function readAll(stream: AsyncIterable<Buffer | string>, name: string): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of stream) {
    bytes += part.length
    if (bytes > mostBytes) throw new UsageError(`${name} has more than ${mostBytes / 2 ** 20} MiB`)
    parts.push(Buffer.from(part as Buffer))
  }
  return Buffer.concat(parts)
}

function whyUnreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'no such file'
  return code === 'EISDIR' ? 'it is a directory' : (code ?? message)
}
