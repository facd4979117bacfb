/** Log-probabilities of a whole answer are written while it is made. */

import { expect, it } from 'vitest'
import {
  ChatLogprobs,
  chatLogprobs,
  type LikelyToken,
  TextLogprobs,
  textLogprobs,
} from '../../src/ts/server/logprobs.js'
import { jsonWith } from '../../src/ts/server/written-list.js'

function someToken(i: number): LikelyToken {
  const one = (j: number) => ({
    text: `"${i} ${j}é`,
    bytes: [34, 48 + (j % 10), 195, 169],
    logprob: -i - j / 7,
  })
  return { ...one(0), top: Array.from({ length: 20 }, (_, j) => one(j)), offset: 3 * i }
}

it.each([
  ['a chat', () => new ChatLogprobs(), chatLogprobs],
  ['a completion', () => new TextLogprobs(), textLogprobs],
] as const)('of %s: 10,000 tokens end in no time, as they would be written at once', (_, make, atOnce) => {
  const growing = make()
  expect(jsonWith({ logprobs: growing.all() })).toBe('{"logprobs":null}')
  const tokens = Array.from({ length: 10_000 }, (_, i) => someToken(i))
  for (const token of tokens) growing.add(token)
  const began = process.cpuUsage()
  const json = jsonWith({ choices: [{ logprobs: growing.all(), last: 1 }] })
  const { user, system } = process.cpuUsage(began)
  expect(user + system).toBeLessThan(200_000) // half a second or more where all is written at the end
  expect(json).toBe(JSON.stringify({ choices: [{ logprobs: atOnce(tokens), last: 1 }] }))
})
