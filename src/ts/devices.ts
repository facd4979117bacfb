/** What layers can be offloaded to. */

import { native } from './native/binding.js'
import type { NativeDevice } from './native/surface.js'

export type Device = NativeDevice

/** Names for ModelOptions.devices, with their memory. Empty where the binary knows the CPU only. */
export function listDevices(): Device[] {
  return native()
    .systemInfo()
    .devices.filter(({ type }) => type !== 'cpu')
}
