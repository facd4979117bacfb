// Typed arrays of the same bits are equal. Without this toEqual looks at numbers one by one: a second for 50,000 logits.

import { expect } from 'vitest'

const bytesOf = (view: ArrayBufferView) => Buffer.from(view.buffer, view.byteOffset, view.byteLength)

expect.addEqualityTesters([
  (a: unknown, b: unknown) => {
    if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b) || a.constructor !== b.constructor) return undefined
    // others are left to toEqual, which says where they differ
    return bytesOf(a).equals(bytesOf(b)) || undefined
  },
])
