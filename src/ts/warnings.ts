/** Things that a caller asked for and does not get, said once, when the model is loaded or the context is made. */

export type H2oWarningCode =
  | 'H2O_WARN_BUDGET_CLAMPED' // local + heavy must stay below the chunk
  | 'H2O_WARN_BATCH_ROUNDED' // nBatch is no multiple of nUbatch
  | 'H2O_WARN_BATCH_TOO_SMALL' // nBatch <= nUbatch: no call can be sparse
  | 'H2O_WARN_UBATCH_CLAMPED' // nUbatch > nBatch
  | 'H2O_WARN_CONTEXT_ABOVE_TRAINING' // nCtx is above the training context
  | 'H2O_WARN_DECODE_DENSE' // h2o.decode in a context that cannot: ContextH2o.decodeReason
  | 'H2O_WARN_HEAVY_ON_GPU' // sets that grow with the prompt, on a GPU: dense attention is expected to be faster
  | 'H2O_WARN_NO_DEVICE' // a split among devices, and there is none

export interface H2oWarning {
  code: H2oWarningCode
  message: string
}

export type WarningListener = (warning: H2oWarning) => void

/** Where warnings go unless a listener is given: once to the process, which prints them to stderr. */
export const emitProcessWarning: WarningListener = ({ code, message }) => {
  process.emitWarning(message, { type: 'H2oWarning', code })
}
