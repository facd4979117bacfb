// The options of `doctor`: those of `run` that decide what a model is loaded and attended with, and how it is said.

import { modelFlagOptions } from '../flags/model-flags.js'
import { type FlagsOf, taken } from '../flags/option.js'
import { batchRows, cacheRows, h2oRows, outputRows, promptRows } from '../flags/options.js'

const [json, verbose] = outputRows

export const doctorOptions = [
  ...taken(promptRows, ['--model']),
  ...taken(batchRows, ['--threads', '--threads-batch', '--flash-attn', '--cache-type-k', '--cache-type-v']),
  ...taken(cacheRows, ['--kv-offload', '--no-kv-offload']),
  ...modelFlagOptions,
  ...taken(h2oRows, ['--h2o-schedule', '--h2o-select']),
  { ...json, help: 'one JSON object on stdout instead of the lines' },
  verbose,
] as const

export type DoctorFlags = FlagsOf<typeof doctorOptions>
