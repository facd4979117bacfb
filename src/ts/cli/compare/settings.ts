// Which ways to prefill are compared with the dense one: every combination of the lists.
import type { Experiments, Schedule } from '../../index.js'
import { combinations } from '../combinations.js'
import { type ExperimentListFlags, experimentCombinations } from '../experiments.js'
import { requireSeveralChunks } from '../several-chunks.js'
import { UsageError } from '../usage-error.js'
import type { CompareFlags } from './options.js'

export interface Setting {
  schedule: Schedule
  nBatch: number
  nUbatch: number
  /** undefined: the API's default */
  local: number | undefined
  heavy: number | undefined
  /** undefined: none is on */
  experiments: Experiments | undefined
}

type SettingFlags = Pick<CompareFlags, 'batchSize' | 'ubatchSize' | 'h2oLocal' | 'h2oHeavy' | 'h2oSchedule'> &
  ExperimentListFlags

/** Fewer chunks in a call, and a prompt may end with a dense tail; more, and there are more logits to hold. */
const CHUNKS_PER_CALL = 3

/**
 * One group per -ub and --h2o-dense-tail: its members cut a prompt alike, so one dense run serves all of them.
 *
 * @throws UsageError where no call could hold more than a chunk, or an experiment does not go with a schedule
 */
export function settingGroups(flags: SettingFlags): Setting[][] {
  if (flags.h2oVoteFused && flags.h2oSchedule.includes('two-pass')) {
    const message =
      '--h2o-vote-fused does not go with two-pass, which sums votes before their shares are known'
    throw new UsageError(message, 'leave two-pass out of --h2o-schedule')
  }
  const tails = flags.h2oDenseTail ?? [0]
  return flags.ubatchSize.flatMap((nUbatch) => {
    const nBatch = flags.batchSize ?? CHUNKS_PER_CALL * nUbatch
    requireSeveralChunks(nBatch, nUbatch, 'give 3 or more of -ub, or leave -b out')
    return tails.map((tail) => {
      const experiments = experimentCombinations({ ...flags, h2oDenseTail: [tail] }).map((chosen) =>
        Object.keys(chosen).length > 0 ? chosen : undefined,
      )
      const { h2oSchedule: schedule, h2oLocal: local, h2oHeavy: heavy } = flags
      return combinations({ schedule, local, heavy, experiments }).map((chosen) => ({
        ...chosen,
        nBatch,
        nUbatch,
      }))
    })
  })
}
