// How a failure looks: one line, one line with a hint if there is one, and the stack on request only.
import type { OutputStream } from './io.js'

interface Described {
  message: string
  code?: unknown
  hint?: unknown
  details?: unknown
}

export function reportError(error: unknown, stderr: OutputStream, verbose: boolean): void {
  const { message, code, hint, details } = describe(error)
  const shown = typeof code === 'string' && code.startsWith('ERR_H2O_') ? ` [${code}]` : ''
  stderr.write(`h2o-prefill: error: ${oneLine(message)}${shown}\n`)
  if (typeof hint === 'string') stderr.write(`h2o-prefill: hint: ${oneLine(hint)}\n`)
  if (!verbose) return
  const log = (details as { log?: unknown } | undefined)?.log
  if (typeof log === 'string') stderr.write(log.endsWith('\n') ? log : `${log}\n`)
  if (error instanceof Error && error.stack) stderr.write(`${error.stack}\n`)
}

function describe(error: unknown): Described {
  return error instanceof Error ? (error as Error & Described) : { message: String(error) }
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ')
}
