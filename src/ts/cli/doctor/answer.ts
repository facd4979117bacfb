// How much longer a token of an answer takes behind a long prompt, on a CPU, from the bytes that it reads.
// docs/models.md says how good a prediction that is.
import { LENGTHS } from '../../gain.js'
import type { ContextH2o, Model } from '../../index.js'

/** What a byte of keys and values costs against one of weights. */
export const BYTE_RATIOS = [1, 2] as const

/** CPU time of attention with the keys of 'auto' over that with all keys, by query heads to a KV head. */
const sparseShare = (group: number) => (group <= 2 ? 0.5 : 0.7)

export interface AnswerSizes {
  model: Pick<Model, 'sizeBytes' | 'nParams' | 'nVocab' | 'nEmbd'>
  h2o: Pick<ContextH2o, 'layers' | 'cost' | 'group'>
  /** bytes of keys and values of a position, all layers */
  kvBytes: number
}

export interface Slowdown {
  /** of the prompt */
  tokens: number
  /** Time of a token over that of one behind no prompt, for each of BYTE_RATIOS. */
  exact: number[]
  /** The same with --h2o-decode auto; null where it reads all keys. */
  sparse: number[] | null
}

/**
 * Empty with recurrent layers, whose states are no keys, and where nothing is known of the weights.
 *
 * @param autoDecode of the addon: keys that 'auto' chooses, 0 for all
 */
export function predictAnswers(
  { model, h2o, kvBytes }: AnswerSizes,
  autoDecode: (group: number, candidates: number) => number,
): Slowdown[] {
  const { layers, cost, group } = h2o
  if (layers.includes('recurrent') || cost.linear === 0) return []
  // the products of a prefill are those of all tokens: the output's, of its last token alone, are not among them
  const weights = (model.sizeBytes / model.nParams) * (cost.linear / 2 + model.nVocab * model.nEmbd)
  const whole = layers.filter((kind) => kind === 'sparse' || kind === 'dense').length
  const windows = layers.filter((kind) => kind === 'window').length
  const position = (kvBytes * whole) / (whole + windows)
  return LENGTHS.map((tokens) => {
    const times = (share: number) => BYTE_RATIOS.map((r) => 1 + (r * share * position * tokens) / weights)
    return {
      tokens,
      exact: times(1),
      sparse: autoDecode(group, tokens) > 0 ? times(sparseShare(group)) : null,
    }
  })
}
