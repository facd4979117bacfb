/** The one error class, its permanent codes, and how failures of the native side become it. */

import { markForInstanceof } from './instanceof-mark.js'

/** Permanent: a code never changes its meaning. Messages may change. */
export type H2oErrorCode =
  | 'ERR_H2O_MODEL_NOT_FOUND'
  | 'ERR_H2O_MODEL_INVALID'
  | 'ERR_H2O_NO_BINARY'
  | 'ERR_H2O_CONTEXT_MEMORY'
  | 'ERR_H2O_CONTEXT_CREATE'
  | 'ERR_H2O_PROMPT_TOO_LONG'
  | 'ERR_H2O_BATCH_TOO_LARGE'
  | 'ERR_H2O_TOKEN_OUT_OF_RANGE'
  | 'ERR_H2O_INVALID_ARGUMENT'
  | 'ERR_H2O_EMPTY_PROMPT'
  | 'ERR_H2O_DISPOSED'
  | 'ERR_H2O_DECODE_FAILED'
  | 'ERR_H2O_STATE_INVALID'
  | 'ERR_H2O_INTERRUPTED'
  | 'ERR_H2O_POSITION_OUT_OF_RANGE'
  | 'ERR_H2O_POSITION_STALE'
  | 'ERR_H2O_POSITION_GONE'
  | 'ERR_H2O_INSIDE_GENERATE'
  | 'ERR_H2O_THREAD_LIMIT'
  | 'ERR_H2O_FILE_LIMIT'
  | 'ERR_H2O_CHAT_TEMPLATE'
  | 'ERR_H2O_CHAT_ANSWER'
  | 'ERR_H2O_SAMPLING'
  | 'ERR_H2O_LOGITS_FILE'
  | 'ERR_H2O_ADAPTER_NOT_FOUND'
  | 'ERR_H2O_ADAPTER_INVALID'
  | 'ERR_H2O_RPC'
  | 'ERR_H2O_NO_SEQUENCE'

export interface H2oErrorOptions {
  details?: Record<string, unknown>
  hint?: string
  cause?: unknown
}

export class H2oError extends Error {
  static {
    markForInstanceof(H2oError.prototype, 'H2oError')
  }

  override readonly name = 'H2oError'
  readonly code: H2oErrorCode
  /** Numbers and names that belong to the failure; `log` holds what llama.cpp logged about it. */
  readonly details: Record<string, unknown>
  /** What the user can do about it. */
  declare readonly hint?: string

  constructor(code: H2oErrorCode, message: string, options: H2oErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
    const hint = options.hint ?? hints[code]
    if (hint !== undefined) this.hint = hint
  }
}

const hints: { [code in H2oErrorCode]?: string } = {
  ERR_H2O_MODEL_NOT_FOUND: 'check the path of the model',
  ERR_H2O_MODEL_INVALID:
    'give a complete GGUF file; details has the key that is wrong, or in log what llama.cpp said',
  ERR_H2O_ADAPTER_NOT_FOUND: 'check the path of the adapter (--lora)',
  ERR_H2O_ADAPTER_INVALID: 'give a LoRA adapter in GGUF that was made for this model',
  ERR_H2O_CONTEXT_MEMORY:
    'lower nBatch (-b), nCtx (-c) or nGpuLayers (-ngl), or choose smaller cache types (-ctk, -ctv) or a smaller model; details.limit, if there, is what could be raised',
  ERR_H2O_PROMPT_TOO_LONG:
    'shorten the prompt, or raise nCtx (-c); more than the model was trained on takes rope scaling, too (--rope-scaling)',
  ERR_H2O_POSITION_OUT_OF_RANGE: 'read what should be there first; position says how many tokens there are',
  ERR_H2O_POSITION_STALE: 'read it again: another prompt, truncate, clear or loadState took its place',
  ERR_H2O_POSITION_GONE:
    'clear the context and read again, or load a saved state; where sliding windows are the reason, swaFull (--swa-full) keeps more. details.earliest is how far back it can go',
  ERR_H2O_INSIDE_GENERATE:
    'leave the loop first, or use another context: one model serves any number of them',
  ERR_H2O_THREAD_LIMIT:
    'lower nThreads (-t) and nThreadsBatch (-tb), or raise the limit: ulimit -u or -v, the pids of a container',
  ERR_H2O_FILE_LIMIT: 'allow more, by ulimit -n or in the container: 100 are enough for most commands',
  ERR_H2O_CHAT_TEMPLATE: 'give a template (--chat-template-file), or the prompt as the model wants it',
  ERR_H2O_CHAT_ANSWER: 'take the text as it is, or parse it with partial: true if it was cut short',
  ERR_H2O_SAMPLING: 'loosen the grammar or the schema, or the logitBias (--logit-bias)',
  ERR_H2O_LOGITS_FILE:
    'give a whole file that llama-perplexity or this program saved for this model and text: --save-all-logits',
  ERR_H2O_NO_SEQUENCE: 'dispose one that is no longer needed, or make the context with a larger parallel',
  ERR_H2O_RPC: 'start ggml-rpc-server there, of the same version of h2o-llama',
  ERR_H2O_BATCH_TOO_LARGE: 'raise nBatch (-b), or use prefill(), which cuts the tokens',
}

/** The error a native promise rejected with, as ours. What is no failure of the native side comes back as it is. */
export function fromNative(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof H2oError) return error
  const { code, details } = error as { code?: unknown; details?: Record<string, unknown> }
  if (error.message === 'std::bad_alloc') return new H2oError('ERR_H2O_CONTEXT_MEMORY', 'out of memory')
  if (typeof code !== 'string' || !code.startsWith('ERR_H2O_')) return error
  return new H2oError(code as H2oErrorCode, describe(error.message, details), { details: details ?? {} })
}

/** What a synchronous native call gives; what it throws becomes ours. */
export function callNative<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw fromNative(error)
  }
}

/** Adds the last line that llama.cpp logged: it is mostly the reason, unless the message has it. */
function describe(message: string, details: Record<string, unknown> | undefined): string {
  const lines = typeof details?.log === 'string' ? details.log.trim().split('\n') : []
  if (lines.some((line) => line !== '' && message.trim().endsWith(line.trim()))) return message
  const reasons = lines.filter(
    (line) => !/failed to load model$|failed to initialize the context$/.test(line.trim()),
  )
  const reason = reasons.at(-1)?.trim()
  return reason ? `${message}: ${reason}` : message
}

export function disposedError(what: 'model' | 'context' | 'sequence'): H2oError {
  return new H2oError('ERR_H2O_DISPOSED', `the ${what} was disposed`)
}

export function invalidArgument(message: string, details: Record<string, unknown> = {}): H2oError {
  return new H2oError('ERR_H2O_INVALID_ARGUMENT', message, { details })
}
