import { describe, expect, it } from 'vitest'
import type { ContextOptions, LoadedState } from '../../../src/ts/index.js'
import { someTokens, tinyContext, tinyModel } from '../../ts/support.js'

/** Bytes before llama.cpp's; the last eight are the checksum (src/native/addon/context/state-header.h). */
const HEADER = 120

/** As somebody does who wants the bytes to be taken: the checksum of src/native/addon/runtime/hash.h. */
function seal(bytes: Buffer): void {
  let hash = 0xcbf29ce484222325n
  const add = (value: bigint) => {
    hash = BigInt.asUintN(64, (hash ^ value) * 0x100000001b3n)
  }
  bytes.writeBigUInt64LE(0n, HEADER - 8)
  let at = 0
  for (; at + 8 <= bytes.length; at += 8) {
    add(bytes.readBigUInt64LE(at))
    hash ^= hash >> 29n
  }
  for (; at < bytes.length; at++) add(BigInt(bytes[at] as number))
  bytes.writeBigUInt64LE(hash, HEADER - 8)
}

const votes = { local: 16, heavy: 16, select: 'votes' } as const

describe('a saved state', () => {
  it('goes on where it was saved', async () => {
    await using context = await tinyContext({ h2o: false })
    await context.prefill(someTokens(300))
    const state = await context.saveState()
    expect(state).toBeInstanceOf(Uint8Array)
    const { logits } = await context.decode(65)
    await context.prefill('something else')
    await context.loadState(state)
    expect(context.position).toBe(300)
    expect((await context.decode(65)).logits).toEqual(logits)

    await using other = await tinyContext({ h2o: false, nCtx: 512 })
    await other.loadState(Uint8Array.from(state))
    expect(other.position).toBe(300)
    expect((await other.decode(65)).logits).toEqual(logits)
  })

  it('of a sparse prefill says what it inherits', async () => {
    await using context = await tinyContext()
    await context.prefill(someTokens(300))
    const state = await context.saveState()
    const straight = await context.prefill(someTokens(100, 2), { append: true })
    await context.clear()
    expect(await context.loadState(state)).toEqual({ position: 300, inherited: true, reason: null })
    const restored = await context.prefill(someTokens(100, 2), { append: true })
    expect(restored.cached).toBe(300)
    expect(restored.path).toBe(straight.path)
    expect(restored.calls).toEqual(straight.calls)
    expect(restored.logits).toEqual(straight.logits)
  })

  it('of an empty context is one', async () => {
    await using context = await tinyContext()
    const state = await context.saveState()
    await context.prefill('abc')
    expect(await context.loadState(state)).toEqual({ position: 0, inherited: false, reason: 'none' })
    expect(context.position).toBe(0)
  })

  it('with any byte changed is refused', async () => {
    await using context = await tinyContext()
    await context.prefill(someTokens(20))
    const state = await context.saveState()
    for (let i = 0; i < state.length; i += 97) {
      const damaged = Uint8Array.from(state)
      damaged[i] = (damaged[i] as number) ^ 0x10
      await expect(context.loadState(damaged)).rejects.toMatchObject({ code: 'ERR_H2O_STATE_INVALID' })
    }
    for (const size of [1, 40, state.length - 1]) {
      await expect(context.loadState(state.subarray(0, size))).rejects.toMatchObject({
        code: 'ERR_H2O_STATE_INVALID',
      })
    }
    expect(context.position).toBe(20)
  })

  it('with a name of 4 GiB takes no memory for it', async () => {
    await using context = await tinyContext()
    await context.prefill(someTokens(40))
    const bytes = Buffer.from(await context.saveState())
    const { maxRSS } = process.resourceUsage()
    bytes.writeUInt32LE(0xffffffff, HEADER)
    seal(bytes)
    await expect(context.loadState(bytes)).rejects.toMatchObject({ code: 'ERR_H2O_STATE_INVALID' })
    expect(process.resourceUsage().maxRSS).toBeLessThan(maxRSS + 1e6) // KiB
    expect(context.position).toBe(40)
  })

  it.each([
    { typeK: 'f32' },
    { typeV: 'f32' },
  ] as const)('of a cache that differs by %j names its types', async (type) => {
    await using saver = await tinyContext()
    await saver.prefill(someTokens(20))
    await using context = await tinyContext(type)
    await expect(context.loadState(await saver.saveState())).rejects.toMatchObject({
      code: 'ERR_H2O_STATE_INVALID',
      details: { typeK: 'f16', typeV: 'f16' },
    })
  })

  it('of another model, cache type or length is refused', async () => {
    await using context = await tinyContext()
    await context.prefill(someTokens(600))
    const state = await context.saveState()
    const others = [
      { model: await tinyModel({ layers: 3 }) },
      { model: await tinyModel({ seed: 2 }) }, // of the same shape
      { typeK: 'f32', typeV: 'f32' } as const,
      { nCtx: 512 },
    ]
    for (const options of others) {
      await using other = await tinyContext(options)
      await other.prefill('abc')
      await expect(other.loadState(state)).rejects.toMatchObject({ code: 'ERR_H2O_STATE_INVALID' })
      expect([0, 3]).toContain(other.position)
      expect((await other.prefill('abc')).tokens).toBe(3)
    }
  })

  it.each<[Partial<ContextOptions>, LoadedState['reason']]>([
    [{ h2o: false }, 'off'],
    [{ nUbatch: 96, h2o: votes }, 'chunk'],
    [{ h2o: { ...votes, local: 8 } }, 'local'],
    [{ h2o: { ...votes, heavy: 8 } }, 'heavy'],
    [{ h2o: { local: 16, heavy: 16, schedule: 'two-pass' } }, 'schedule'],
  ])('goes without its memory into a context with %j', async (options, reason) => {
    // with stock's attention in both: without H2O it decodes, too
    await using context = await tinyContext({ h2o: votes, upstreamProducts: true })
    await context.prefill(someTokens(300))
    const state = await context.saveState()
    await using other = await tinyContext({ ...options, upstreamProducts: true })
    await other.prefill(someTokens(500, 3))
    expect(await other.loadState(state)).toEqual({ position: 300, inherited: false, reason })
    const { logits } = await other.decode(65)
    // the cache is the saved one: decoding is dense
    expect(await context.loadState(state)).toMatchObject({ inherited: true })
    const straight = await context.decode(65)
    expect(logits?.every((value, i) => Math.abs(value - (straight.logits?.[i] as number)) < 1e-3)).toBe(true)
    await other.loadState(state)
    const { calls } = await other.prefill(someTokens(100, 2), { append: true })
    expect(calls[0]?.inherited).toBe(0)
  })

  // its index is made again from the keys: nothing of the method is in a state
  it.each<[string, ContextOptions['h2o']]>([
    ['query', { local: 16, heavy: 16, select: 'query' }],
    ['query of another budget', { local: 8, heavy: 4, select: 'query' }],
    ['votes', votes],
    ['no method', false],
  ])('of a context with %s goes on in one with query', async (_, h2o) => {
    await using saver = await tinyContext(h2o === undefined ? {} : { h2o })
    await saver.prefill(someTokens(300))
    await using context = await tinyContext({ h2o: { local: 16, heavy: 16, select: 'query' } })
    await context.prefill(someTokens(500, 3))
    expect(await context.loadState(await saver.saveState())).toEqual({
      position: 300,
      inherited: true,
      reason: null,
    })
    const { calls } = await context.prefill(someTokens(100, 2), { append: true, denseTail: 0 })
    expect(calls).toMatchObject([{ path: 'h2o', pos: 300, inherited: 32 }])
  })

  it('of a context with query has no memory for one with votes', async () => {
    await using saver = await tinyContext({ h2o: { local: 16, heavy: 16, select: 'query' } })
    await saver.prefill(someTokens(300))
    await using context = await tinyContext({ h2o: votes })
    await context.prefill(someTokens(500, 3))
    expect(await context.loadState(await saver.saveState())).toEqual({
      position: 300,
      inherited: false,
      reason: 'selection',
    })
    const { calls } = await context.prefill(someTokens(100, 2), { append: true })
    expect(calls).toMatchObject([{ path: 'h2o', pos: 300, inherited: 0 }])
  })

  it('comes from a context without H2O', async () => {
    await using plain = await tinyContext({ h2o: false })
    await plain.prefill(someTokens(300))
    await using context = await tinyContext({ h2o: votes })
    expect(await context.loadState(await plain.saveState())).toEqual({
      position: 300,
      inherited: false,
      reason: 'none',
    })
  })

  const resizable = (size: number) =>
    new (ArrayBuffer as unknown as new (size: number, options: object) => ArrayBuffer)(size, {
      maxByteLength: size,
    })
  const plain = (size: number) => new ArrayBuffer(size)

  it.each<[string, (size: number) => ArrayBuffer, (buffer: ArrayBuffer) => void]>([
    ['changed', plain, (buffer) => new Uint8Array(buffer).fill(7)],
    ['transferred', plain, (buffer) => structuredClone(0, { transfer: [buffer] })],
    ['resized', resizable, (buffer) => (buffer as unknown as { resize(size: number): void }).resize(0)],
  ])('is the one that was given, though the buffer is %s meanwhile', async (_, allocate, change) => {
    await using context = await tinyContext({ nCtx: 4096, typeK: 'f32', typeV: 'f32' })
    await context.prefill(someTokens(4000))
    const state = await context.saveState()
    const { logits } = await context.decode(65)
    for (let round = 0; round < 10; round++) {
      const buffer = allocate(state.length)
      new Uint8Array(buffer).set(state)
      const loading = context.loadState(new Uint8Array(buffer))
      if (round % 2) await new Promise(setImmediate)
      change(buffer)
      expect(await loading).toMatchObject({ position: 4000, inherited: true })
    }
    expect((await context.decode(65)).logits).toEqual(logits)
  })

  it('of a buffer that is gone is refused', async () => {
    await using context = await tinyContext()
    const bytes = await context.saveState()
    const own = new Uint8Array(bytes)
    structuredClone(own, { transfer: [own.buffer] })
    await expect(context.loadState(own)).rejects.toMatchObject({ code: 'ERR_H2O_STATE_INVALID' })
  })
})
