// What attention costs where a model runs on the processor alone.
import { type AttentionCost, attentionCosts } from '../gain.js'
import type { Device } from '../index.js'
import { native } from '../native/binding.js'
import type { ModelFlags } from './flags/model-flags.js'

export function attentionCostOf(
  { device, upstreamProducts }: Pick<ModelFlags, 'device'> & { upstreamProducts?: boolean },
  { listDevices }: { listDevices(): readonly Device[] },
): AttentionCost | undefined {
  if (device?.length !== 0 && listDevices().length > 0) return undefined
  return attentionCosts(native().systemInfo().features, upstreamProducts === true)
}
