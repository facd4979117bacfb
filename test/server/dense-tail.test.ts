/** How many tokens at the end of a prompt are dense. */

import { expect, it } from 'vitest'
import { denseTail } from '../../src/ts/server/dense-tail.js'

it.each([
  // tokens, of the question, least, dense
  ['a question behind a document', 8300, 100, 64, 100],
  ['a short one: the least', 8300, 20, 64, 64],
  ['one of a chunk', 8192, 512, 64, 512],
  ['one of more than a chunk: the least', 8192, 513, 64, 64],
  ['no question', 8300, undefined, 64, 64],
  ['nothing wanted', 8300, 600, 0, 0],
  ['a longer least', 8300, 100, 1000, 1000],
  ['a prompt below the least', 40, 30, 64, 40],
])('%s', (_, n, question, least, dense) => {
  expect(denseTail(n, question, { chunk: 512, least })).toBe(dense)
})
