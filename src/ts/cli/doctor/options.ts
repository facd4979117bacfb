// The options of `doctor`: those of `run` that decide what a model is loaded and attended with, and how it is said.
import type { RunFlags } from '../flags.js'
import { type ModelFlags, modelFlagOptions } from '../model-flags.js'
import { type OptionSpec, runOptions } from '../options.js'

export type DoctorFlags = Pick<
  RunFlags,
  | 'model'
  | keyof ModelFlags
  | 'kvOffload'
  | 'threads'
  | 'threadsBatch'
  | 'flashAttn'
  | 'cacheTypeK'
  | 'cacheTypeV'
  | 'h2oSchedule'
  | 'h2oSelect'
  | 'json'
  | 'verbose'
>

const shared = new Set('-m -t -tb -fa -ctk -ctv -kvo -nkvo --h2o-schedule --h2o-select --json -v'.split(' '))

export const doctorOptions: readonly OptionSpec[] = runOptions
  .filter((option) => shared.has(option.names[0]) || modelFlagOptions.includes(option))
  .map((option) =>
    option.names[0] === '--json'
      ? { ...option, help: 'one JSON object on stdout instead of the lines' }
      : option,
  )
