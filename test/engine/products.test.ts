// Linear layers in kernels of our own against upstream's, on whole models: other bits, the same logits but for rounding.

import { expect, test } from 'vitest'
import type { ModelSpec } from '../../src/ts/model-maker/index.js'
import { nmse } from '../reference/method/session.js'
import { allLogits, modelFile, open, randomTokens } from './support.js'

const models: Record<string, ModelSpec> = {
  'qwen3, Q8_0': { arch: 'qwen3', type: 'q8_0' },
  'qwen3moe, Q8_0': { arch: 'qwen3moe', type: 'q8_0' },
  'qwen3moe, Q4_0': { arch: 'qwen3moe', type: 'q4_0' },
  'qwen3moe, F16': { arch: 'qwen3moe', type: 'f16' },
  'gpt-oss, Q8_0': { arch: 'gpt-oss', type: 'q8_0' },
}

test.each(Object.entries(models))('%s', async (_, spec) => {
  const model = await modelFile({ hidden: 256, ffn: 256, ...spec })
  const tokens = randomTokens(256)

  const logitsOf = async (upstreamProducts: boolean) =>
    allLogits(await open({ model, nBatch: 256, nUbatch: 256, h2o: false, upstreamProducts }), tokens)

  const upstream = await logitsOf(true)
  const ours = await logitsOf(false)
  expect(ours).not.toEqual(upstream)

  // of each token: where two experts are wanted alike, rounding chooses between them
  const n = ours.length / tokens.length
  const errors = tokens.map((_, i) =>
    nmse(ours.slice(i * n, (i + 1) * n), upstream.slice(i * n, (i + 1) * n)),
  )
  expect(errors.toSorted((a, b) => a - b)[tokens.length / 2]).toBeLessThan(2e-3) // 1.1e-3 with AMX: BF16 beside 8 bits
})
