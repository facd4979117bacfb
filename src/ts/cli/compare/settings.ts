// Which ways to prefill are compared with the dense one: every combination of the lists.
import type { Schedule } from '../../index.js'
import { UsageError } from '../usage-error.js'
import type { CompareFlags } from './options.js'

export interface Setting {
  schedule: Schedule
  nBatch: number
  nUbatch: number
  /** undefined: the API's default */
  local: number | undefined
  heavy: number | undefined
}

type SettingFlags = Pick<CompareFlags, 'batchSize' | 'ubatchSize' | 'h2oLocal' | 'h2oHeavy' | 'h2oSchedule'>

/** Fewer chunks in a call, and a prompt may end with a dense tail; more, and there are more logits to hold. */
const CHUNKS_PER_CALL = 3

/**
 * One group per -ub: its members cut a prompt alike, so one dense run serves all of them.
 *
 * @throws UsageError where no call could hold more than a chunk
 */
export function settingGroups(flags: SettingFlags): Setting[][] {
  return flags.ubatchSize.map((nUbatch) => {
    const nBatch = flags.batchSize ?? CHUNKS_PER_CALL * nUbatch
    if (nBatch <= nUbatch) {
      const message = `-b ${nBatch} is not above -ub ${nUbatch}: no call could hold more than one chunk, so none would be sparse`
      throw new UsageError(message, 'give 3 or more of -ub, or leave -b out')
    }
    return flags.h2oSchedule.flatMap((schedule) =>
      (flags.h2oLocal ?? [undefined]).flatMap((local) =>
        (flags.h2oHeavy ?? [undefined]).map((heavy) => ({ schedule, nBatch, nUbatch, local, heavy })),
      ),
    )
  })
}
