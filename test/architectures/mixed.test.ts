// Architectures with sliding windows or recurrent layers, tiny and with random weights.

import { test } from 'vitest'
import { recurrent, windows } from './mixed.js'
import { expectServed, named } from './served.js'

test.each(named(windows))('windows: $name', expectServed)

test.each(named(recurrent))('recurrent: $name', expectServed)
