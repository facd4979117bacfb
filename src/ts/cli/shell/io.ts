// The streams a command works with: the process's own, or a test's.
import { fstatSync } from 'node:fs'

export interface InputStream extends AsyncIterable<Buffer | string> {
  isTTY?: boolean
}

export interface OutputStream {
  isTTY?: boolean
  columns?: number
  /** of the process's own streams */
  fd?: number
  write(text: string, done?: (error?: Error | null) => void): boolean
  on?(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown
}

export interface CliIo {
  stdin: InputStream
  stdout: OutputStream
  stderr: OutputStream
  env: Record<string, string | undefined>
}

/** Whether both go to one terminal, pipe or file, where the text of one would run into the lines of the other. */
export function shareAPlace(a: OutputStream, b: OutputStream): boolean {
  if (a.isTTY && b.isTTY) return true
  if (a.fd === undefined || b.fd === undefined) return false
  const [one, other] = [fstatSync(a.fd), fstatSync(b.fd)]
  return one.dev === other.dev && one.ino === other.ino
}

// Node opens stdin when it is first asked for: only a command that reads it should
export const processIo: CliIo = {
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
}
