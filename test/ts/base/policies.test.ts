// The policies as the engine has them, and as help texts and checks without it have them.

import { expect, it } from 'vitest'
import { native } from '../../../src/ts/native/binding.js'
import { policies } from '../../../src/ts/policies.js'

it('the same rows, in the same order', () => {
  expect(native().systemInfo().policies).toEqual(policies)
})
