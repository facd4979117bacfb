// Child processes that print one JSON value: a measurement each, so that none inherits another's memory or warm caches.
import { spawn } from 'node:child_process'

/** A child that failed. `code` and `hint` are those of the error that it reported, if it did. */
export class ChildError extends Error {
  readonly code: string | undefined
  readonly hint: string | undefined

  constructor(message: string, { code, hint }: { code?: string; hint?: string } = {}) {
    super(message)
    this.name = 'ChildError'
    this.code = code
    this.hint = hint
  }
}

/** Runs to the end and gives what the child printed. @throws ChildError, or the signal's reason */
export async function runChild(
  program: string,
  argv: readonly string[],
  signal: AbortSignal,
): Promise<unknown> {
  signal.throwIfAborted()
  const { status, out, err } = await collect(program, argv, signal)
  signal.throwIfAborted()
  const value = parse(out)
  const { error } = (value ?? {}) as { error?: { message: string; code?: string; hint?: string } }
  if (error) throw new ChildError(error.message, error)
  if (status !== 0 || value === undefined) {
    throw new ChildError(lastLine(err) ?? `${program} ended with ${status} and said nothing`)
  }
  return value
}

interface Ended {
  /** exit code, or the name of the signal */
  status: number | string | null
  out: string
  err: string
}

function collect(program: string, argv: readonly string[], signal: AbortSignal): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = { out: '', err: '' }
    const kill = () => child.kill('SIGKILL') // nothing of it is wanted, and a native call hears nothing milder
    signal.addEventListener('abort', kill)
    child.stdout.setEncoding('utf8').on('data', (part) => {
      ended.out += part
    })
    child.stderr.setEncoding('utf8').on('data', (part) => {
      ended.err += part
    })
    child.on('error', (cause) => {
      signal.removeEventListener('abort', kill)
      reject(new ChildError(`${program} could not be started: ${cause.message}`))
    })
    child.on('close', (code, name) => {
      signal.removeEventListener('abort', kill)
      resolve({ status: code ?? name, ...ended })
    })
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function lastLine(text: string): string | undefined {
  return text.trim().split('\n').at(-1)?.trim() || undefined
}
