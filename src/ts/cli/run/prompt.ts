// Where the prompt comes from: -p, -f FILE, -f - or a pipe. Never a keyboard.
import { processEscapes } from '../flags/escapes.js'
import type { FlagsOf } from '../flags/option.js'
import type { promptRows } from '../flags/options.js'
import type { InputStream } from '../shell/io.js'
import { readAll, readFileBytes } from '../shell/text-file.js'
import { seeHelp, UsageError } from '../shell/usage-error.js'

export type PromptFlags = Pick<FlagsOf<typeof promptRows>, 'prompt' | 'file' | 'escape'>

/**
 * The text of the prompt. As in llama.cpp, one newline at the end of a file goes, and escapes are processed wherever
 * the prompt came from, unless `--no-escape` was given.
 *
 * @throws UsageError if there is none, if it is empty, if it was given twice or cannot be read
 */
export async function readPrompt(
  flags: PromptFlags,
  openStdin: () => InputStream,
  warn: (message: string) => void,
): Promise<string> {
  const raw = await readBytes(flags, openStdin)
  const bytes = flags.escape ? processEscapes(raw) : raw
  if (bytes.length === 0) throw new UsageError('the prompt is empty', `give -p TEXT or -f FILE (${seeHelp})`)
  const text = bytes.toString('utf8')
  if (text.includes('\ufffd') && !bytes.equals(Buffer.from(text, 'utf8'))) {
    warn('the prompt is not all UTF-8; what could not be read became U+FFFD')
  }
  return text
}

async function readBytes({ prompt, file }: PromptFlags, openStdin: () => InputStream): Promise<Buffer> {
  if (prompt !== undefined && file !== undefined) {
    throw new UsageError('-p and -f were both given', 'give the prompt in one place')
  }
  if (prompt !== undefined) return Buffer.from(prompt, 'utf8')
  if (file !== undefined && file !== '-')
    return withoutNewline(await readFileBytes(file, `the prompt file ${file}`))
  const stdin = openStdin()
  if (stdin.isTTY) {
    throw new UsageError(
      file === '-' ? '-f - needs a pipe: stdin is a terminal' : 'no prompt was given',
      'use -p TEXT, -f FILE, or pipe the text in',
    )
  }
  return withoutNewline(await readAll(stdin, 'the prompt'))
}

function withoutNewline(bytes: Buffer): Buffer {
  return bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes
}
