// Texts that flags name files of: templates, grammars, schemas, keys.
import { readFile } from 'node:fs/promises'
import { UsageError } from './usage-error.js'

/** @param what 'the chat template ', or nothing */
export async function readTextFile(path: string, what = ''): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${what}${path}: ${whyUnreadable(error)}`)
  }
}

export function whyUnreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'no such file'
  return code === 'EISDIR' ? 'it is a directory' : (code ?? message)
}
