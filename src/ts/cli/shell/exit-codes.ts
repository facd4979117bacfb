// The exit codes of h2o-prefill, and which failure ends with which. The numbers are permanent.
import type { H2oErrorCode } from '../../index.js'

export const ExitCode = {
  ok: 0,
  failure: 1,
  usage: 2,
  model: 3,
  noBinary: 4,
  memory: 5,
  /** `compare`, `parity`: a figure is past its limit */
  threshold: 6,
  interrupted: 130,
} as const
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

const byErrorCode: Partial<Record<H2oErrorCode, ExitCode>> = {
  ERR_H2O_INVALID_ARGUMENT: ExitCode.usage,
  ERR_H2O_EMPTY_PROMPT: ExitCode.usage,
  ERR_H2O_TOKEN_OUT_OF_RANGE: ExitCode.usage,
  ERR_H2O_LOGITS_FILE: ExitCode.usage,
  ERR_H2O_MODEL_NOT_FOUND: ExitCode.model,
  ERR_H2O_MODEL_INVALID: ExitCode.model,
  ERR_H2O_ADAPTER_NOT_FOUND: ExitCode.model,
  ERR_H2O_ADAPTER_INVALID: ExitCode.model,
  ERR_H2O_RPC: ExitCode.model,
  ERR_H2O_NO_BINARY: ExitCode.noBinary,
  ERR_H2O_CONTEXT_MEMORY: ExitCode.memory,
  ERR_H2O_THREAD_LIMIT: ExitCode.memory,
  ERR_H2O_FILE_LIMIT: ExitCode.memory,
  ERR_H2O_PROMPT_TOO_LONG: ExitCode.memory,
  ERR_H2O_CHAT_TEMPLATE: ExitCode.model,
  ERR_H2O_INTERRUPTED: ExitCode.interrupted,
}

/** The exit code for anything that was thrown: by its `code`, else 1. */
export function exitCodeOf(error: unknown): ExitCode {
  const code = (error as { code?: unknown } | null)?.code
  if (code === 'ERR_CLI_USAGE') return ExitCode.usage
  return byErrorCode[code as H2oErrorCode] ?? ExitCode.failure
}
