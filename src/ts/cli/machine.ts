// The machine: what doctor says of it, and what figures are of.
import { availableParallelism, cpus, loadavg, machine as machineName, release, totalmem, type } from 'node:os'
import { packageVersion } from './version.js'

export interface Machine {
  cpu: string
  cores: number
  memory_bytes: number
  system: string
  node: string
  h2o_llama: string
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() || 'an unnamed CPU',
    cores: availableParallelism(),
    memory_bytes: totalmem(),
    system: `${type()} ${release()} ${machineName()}`,
    node: process.version,
    h2o_llama: packageVersion(),
  }
}

/** What else is running, if it is enough to spoil the figures. 0 where the system does not say. */
export function foreignLoad(): number {
  const load = loadavg()[0] ?? 0
  return load > 0.25 * availableParallelism() ? load : 0
}
