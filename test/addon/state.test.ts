import { describe, expect, it } from 'vitest'
import { someTokens, tinyContext, tinyModel } from './support.js'

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
    await context.loadState(state)
    const restored = await context.prefill(someTokens(100, 2), { append: true })
    expect(restored.cached).toBe(300)
    expect(restored.path).toBe(straight.path)
    // it is carried, or it is reset and said so
    if (restored.calls[0]?.inherited === straight.calls[0]?.inherited) {
      expect(restored.logits).toEqual(straight.logits)
    } else {
      expect(restored.calls[0]?.inherited).toBe(0)
    }
  })

  it('of an empty context is one', async () => {
    await using context = await tinyContext()
    const state = await context.saveState()
    await context.prefill('abc')
    await context.loadState(state)
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

  it('of another model, cache type or length is refused', async () => {
    await using context = await tinyContext()
    await context.prefill(someTokens(600))
    const state = await context.saveState()
    const others = [
      { model: await tinyModel({ layers: 3 }) },
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
})
