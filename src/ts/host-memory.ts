/** Bytes of memory that this process can have at all. */

import { totalmem } from 'node:os'

export function hostMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem()
}
