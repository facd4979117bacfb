// Which ways to prefill are compared with the dense one: every combination of the lists.
import type { Schedule, Selection } from '../../index.js'
import { policyOf } from '../../policies.js'
import { combinations } from '../flags/combinations.js'
import { requireSeveralChunks } from '../several-chunks.js'
import { UsageError } from '../shell/usage-error.js'
import type { CompareFlags } from './options.js'

export interface Setting {
  /** stock attention and stock's products, whatever the rest says */
  off?: true
  schedule: Schedule
  /** undefined: the API's default */
  select: Selection | undefined
  nBatch: number
  nUbatch: number
  local: number | undefined
  heavy: number | undefined
  denseTail: number
}

type SettingFlags = Pick<
  CompareFlags,
  'batchSize' | 'ubatchSize' | 'h2oLocal' | 'h2oHeavy' | 'h2oSchedule' | 'h2oSelect' | 'h2oDenseTail'
>

/** Fewer chunks in a call, and a prompt may end with a dense tail; more, and there are more logits to hold. */
export const CHUNKS_PER_CALL = 3

/**
 * One group per -ub and --h2o-dense-tail: its members cut a prompt alike, so one dense run serves all of them.
 *
 * @throws UsageError where no call could hold more than a chunk, or no schedule has a selection
 */
export function settingGroups(flags: SettingFlags): Setting[][] {
  const singlePass = flags.h2oSelect?.find((name) => !policyOf(name).runsTwoPass)
  if (singlePass && flags.h2oSchedule.includes('two-pass')) {
    throw new UsageError(
      `--h2o-select ${singlePass} has no two-pass`,
      'compare two-pass in a call of its own',
    )
  }
  return flags.ubatchSize.flatMap((nUbatch) => {
    const nBatch = flags.batchSize ?? CHUNKS_PER_CALL * nUbatch
    requireSeveralChunks(nBatch, nUbatch, 'give 3 or more of -ub, or leave -b out')
    const { h2oSchedule: schedule, h2oSelect: select, h2oLocal: local, h2oHeavy: heavy } = flags
    return flags.h2oDenseTail.map((denseTail) =>
      combinations({ schedule, select, local, heavy }).map((chosen) => ({
        ...chosen,
        denseTail,
        nBatch,
        nUbatch,
      })),
    )
  })
}
