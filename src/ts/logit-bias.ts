/** What is added to the logits of tokens. */

import { H2oError, invalidArgument } from './errors.js'
import { isRecord } from './validate.js'

/** By token id. */
export type LogitBias = Readonly<Record<number, number | false>>

const most = 1e6

/** Throws ERR_H2O_TOKEN_OUT_OF_RANGE for a token that the vocabulary does not have. */
export function logitBias(
  given: LogitBias | undefined,
  nVocab: number,
): { biasTokens: Int32Array; biasValues: Float32Array } {
  if (given === undefined) return { biasTokens: new Int32Array(0), biasValues: new Float32Array(0) }
  if (!isRecord(given)) {
    throw invalidArgument('logitBias is an object: { [token id]: bias }', { logitBias: typeof given })
  }
  const entries = Object.entries(given)
  const biasTokens = Int32Array.from(entries, ([id]) => tokenOf(id, nVocab))
  const biasValues = Float32Array.from(entries, ([id, bias]) => biasOf(id, bias))
  return { biasTokens, biasValues }
}

function tokenOf(id: string, nVocab: number): number {
  const token = /^\d{1,20}$/.test(id) ? Number(id) : Number.NaN
  if (!(token < nVocab)) {
    throw new H2oError(
      'ERR_H2O_TOKEN_OUT_OF_RANGE',
      `logitBias has token ${id.slice(0, 80)}, which is not in the vocabulary`,
      {
        details: { token: id, nVocab },
      },
    )
  }
  return token
}

function biasOf(id: string, bias: unknown): number {
  if (bias === false || bias === Number.NEGATIVE_INFINITY) return Number.NEGATIVE_INFINITY
  if (typeof bias !== 'number' || !(Math.abs(bias) <= most)) {
    throw invalidArgument(
      `the bias of token ${id} must be false, -Infinity or a number from -${most} to ${most}`,
      {
        token: id,
        bias,
      },
    )
  }
  return bias
}
