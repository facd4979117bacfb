// Which ways to prefill are compared with the dense one: every combination of the lists.
import type { Schedule } from '../../index.js'
import { combinations } from '../combinations.js'
import { requireSeveralChunks } from '../several-chunks.js'
import type { CompareFlags } from './options.js'

export interface Setting {
  schedule: Schedule
  nBatch: number
  nUbatch: number
  /** undefined: the API's default */
  local: number | undefined
  heavy: number | undefined
  denseTail: number
}

type SettingFlags = Pick<
  CompareFlags,
  'batchSize' | 'ubatchSize' | 'h2oLocal' | 'h2oHeavy' | 'h2oSchedule' | 'h2oDenseTail'
>

/** Fewer chunks in a call, and a prompt may end with a dense tail; more, and there are more logits to hold. */
const CHUNKS_PER_CALL = 3

/**
 * One group per -ub and --h2o-dense-tail: its members cut a prompt alike, so one dense run serves all of them.
 *
 * @throws UsageError where no call could hold more than a chunk
 */
export function settingGroups(flags: SettingFlags): Setting[][] {
  return flags.ubatchSize.flatMap((nUbatch) => {
    const nBatch = flags.batchSize ?? CHUNKS_PER_CALL * nUbatch
    requireSeveralChunks(nBatch, nUbatch, 'give 3 or more of -ub, or leave -b out')
    const { h2oSchedule: schedule, h2oLocal: local, h2oHeavy: heavy } = flags
    return flags.h2oDenseTail.map((denseTail) =>
      combinations({ schedule, local, heavy }).map((chosen) => ({ ...chosen, denseTail, nBatch, nUbatch })),
    )
  })
}
