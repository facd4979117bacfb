// The options of `doctor`: those of `run` that decide what a model is loaded and attended with, then its own.
import type { ContextFlags } from '../flags.js'
import { type OptionSpec, runOptions } from '../options.js'

export interface DoctorFlags
  extends Pick<
    ContextFlags,
    'threads' | 'threadsBatch' | 'flashAttn' | 'cacheTypeK' | 'cacheTypeV' | 'h2oSchedule'
  > {
  model?: string
  mlock?: boolean
  mmap: boolean
  gpuLayers: number | 'auto' | 'all'
  json?: boolean
  verbose?: boolean
}

const shared = new Set([
  '-m',
  '-t',
  '-tb',
  '-ngl',
  '-fa',
  '-ctk',
  '-ctv',
  '--mlock',
  '--no-mmap',
  '--h2o-schedule',
])
const output = new Set(['--json', '-v'])

export const doctorOptions: readonly OptionSpec[] = runOptions
  .filter(({ names }) => shared.has(names[0]) || output.has(names[0]))
  .map((option) =>
    option.names[0] === '--json'
      ? { ...option, help: 'one JSON object on stdout instead of the lines' }
      : option,
  )
