// The streams a command works with: the process's own, or a test's.

export interface InputStream extends AsyncIterable<Buffer | string> {
  isTTY?: boolean
}

export interface OutputStream {
  isTTY?: boolean
  columns?: number
  write(text: string, done?: (error?: Error | null) => void): boolean
  on?(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown
}

export interface CliIo {
  stdin: InputStream
  stdout: OutputStream
  stderr: OutputStream
  env: Record<string, string | undefined>
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
