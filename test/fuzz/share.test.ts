/** The fixed share of the fuzzing that every change pays for: a twentieth of each kind, behind the seeds of the rest. */

import { it } from 'vitest'
import { expectNoFinding, RUNS } from './short-run.js'

it.each(Object.entries(RUNS))('%s: a twentieth of %i mutants', async (kind, runs) => {
  await expectNoFinding(kind, Math.ceil(runs / 20), 1001)
})
