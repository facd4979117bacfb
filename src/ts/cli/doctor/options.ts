// The options of `doctor`: those of `run` that decide what a model is loaded and attended with, and how it is said.
import type { RunFlags } from '../flags.js'
import { type OptionSpec, runOptions } from '../options.js'

export type DoctorFlags = Pick<
  RunFlags,
  | 'model'
  | 'mlock'
  | 'mmap'
  | 'gpuLayers'
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

const shared = new Set(
  '-m -t -tb -ngl -fa -ctk -ctv --mlock --no-mmap --h2o-schedule --h2o-select --json -v'.split(' '),
)

export const doctorOptions: readonly OptionSpec[] = runOptions
  .filter(({ names }) => shared.has(names[0]))
  .map((option) =>
    option.names[0] === '--json'
      ? { ...option, help: 'one JSON object on stdout instead of the lines' }
      : option,
  )
