// Whether a model runs on the processor alone. No GPU has been measured, so nothing is known of what dense takes there.
import type { Device } from '../index.js'
import type { ModelFlags } from './flags/model-flags.js'

export const isOnCpu = (
  { device }: Pick<ModelFlags, 'device'>,
  { listDevices }: { listDevices(): readonly Device[] },
): boolean => device?.length === 0 || listDevices().length === 0
