// Streams in memory in place of the process's own.
import { Readable } from 'node:stream'
import type { CliIo, OutputStream } from '../../../src/ts/cli/shell/io.js'

export class MemoryStream implements OutputStream {
  text = ''
  isTTY: boolean
  columns = 80
  /** set to make the next write fail with this error code */
  failWith: string | undefined

  constructor(isTTY = false) {
    this.isTTY = isTTY
  }

  write(text: string, done?: (error?: Error | null) => void): boolean {
    if (this.failWith) done?.(Object.assign(new Error(this.failWith), { code: this.failWith }))
    else {
      this.text += text
      done?.()
    }
    return true
  }

  on(): this {
    return this
  }
}

export interface MemoryIo extends CliIo {
  stdout: MemoryStream
  stderr: MemoryStream
}

export function memoryIo({
  stdin,
  tty = false,
}: {
  stdin?: string | Buffer | undefined
  tty?: boolean
} = {}): MemoryIo {
  const input = Object.assign(Readable.from(stdin === undefined ? [] : [Buffer.from(stdin as string)]), {
    isTTY: stdin === undefined,
  })
  return { stdin: input, stdout: new MemoryStream(tty), stderr: new MemoryStream(tty), env: {} }
}
