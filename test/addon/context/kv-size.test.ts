/** What a context's cache takes is known to the byte before it is made, whatever its layers keep. */

import { afterEach, expect, it, vi } from 'vitest'
import type { ContextOptions } from '../../../src/ts/index.js'
import { architectures } from '../../../src/ts/model-maker/index.js'
import { tinyContext, tinyModel } from '../../ts/support.js'

const host = vi.hoisted(() => ({ memory: 0 })) // unknown
vi.mock('../../../src/ts/host-memory.js', () => ({ hostMemory: () => host.memory }))

afterEach(() => {
  host.memory = 0
})

const SIZES = { nCtx: 4096, nBatch: 192, nUbatch: 64, h2o: false } satisfies Partial<ContextOptions>
const BOOKKEEPING = 64 * SIZES.nCtx

const model = (arch: (typeof architectures)[number]) => tinyModel({ arch, layers: 6 })

async function opened(options: Partial<ContextOptions>): Promise<number> {
  const context = await tinyContext({ ...SIZES, ...options })
  await context.dispose()
  return context.memory.kvBytes
}

/** The least memory in which the context is made is `bytes`. */
async function expectToFitJust(bytes: number, options: Partial<ContextOptions>): Promise<void> {
  host.memory = bytes - 1
  await expect(opened(options)).rejects.toMatchObject({
    code: 'ERR_H2O_CONTEXT_MEMORY',
    message: expect.stringMatching(/^the KV cache needs \d+ MiB and the machine leaves \d+ MiB$/),
    details: { bytes, memory: bytes - 1 },
  })
  host.memory = bytes
  await opened(options)
}

it.each(architectures)('%s', async (arch) => {
  const options = { model: await model(arch) }
  await expectToFitJust((await opened(options)) + BOOKKEEPING, options)
})

it.each([
  ['a window cache of full size', { swaFull: true }],
  ['a window longer than the context', { nCtx: 256 }],
  ['sequences with a window each', { parallel: 4 }],
  ['quantized', { typeK: 'q8_0', typeV: 'q4_0', flashAttn: 'on' }],
  ['V transposed', { flashAttn: 'off', typeK: 'f32' }],
] as const)('gemma3, %s', async (_, own) => {
  const options = {
    ...SIZES,
    parallel: 1,
    ...own,
    model: await tinyModel({ arch: 'gemma3', layers: 6, headDim: 32 }),
  }
  await expectToFitJust((await opened(options)) + 64 * options.nCtx * options.parallel, options)
})
