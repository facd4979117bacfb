/** Where the sparse part of a prompt ends. */

import { expect, it } from 'vitest'
import { denseTail } from '../../src/ts/server/dense-tail.js'

const chunk = 512

it.each([
  // tokens, of the question, least, what is dense
  ['a question behind a document', 8300, 100, 64, 8300 - 8192],
  ['one that begins where a chunk does', 8292, 100, 64, 100],
  ['one that reaches into the chunk before', 8250, 100, 64, 8250 - 7680],
  ['one of a chunk', 8192, 512, 64, 512],
  ['one of more than a chunk: the least', 8192, 513, 64, 512],
  ['no question', 8300, undefined, 64, 8300 - 8192],
  ['nothing wanted', 8300, undefined, 0, 0],
  ['a longer least', 8300, 100, 1000, 8300 - 7168],
  ['a prompt below the least', 40, undefined, 64, 40],
  ['a prompt of a chunk and a little', 560, 20, 64, 560],
])('%s', (_, n, question, least, dense) => {
  expect(denseTail(n, question, { chunk, least })).toBe(dense)
})
