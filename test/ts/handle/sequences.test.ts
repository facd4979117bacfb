/** Random sequences of calls: the context holds what a plain list of tokens says, whatever was tried in between. */

import { describe, expect, it } from 'vitest'
import type { Context } from '../../../src/ts/index.js'
import { collect, someTokens, tinyContext } from '../support.js'

const exact = { typeK: 'f32', typeV: 'f32', flashAttn: 'off' } as const
const nOps = 40

/** Numbers from 0 to n - 1, the same for a seed. */
function dice(seed: number): (n: number) => number {
  let state = seed
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 8) % n
  }
}

interface Saved {
  state: Uint8Array
  tokens: number[]
}

/** One random call. What the context must hold afterwards; a refused call changes nothing. */
async function step(context: Context, has: number[], draw: (n: number) => number, saved: Saved[]) {
  const text = Array.from(someTokens(1 + draw(200), draw(1000)))
  const options = { ignoreEos: true, temperature: 0, nPredict: draw(5) }
  const at = draw(has.length + 40)
  const beyond = at > has.length
  const refused = (call: Promise<unknown>) =>
    expect(call).rejects.toMatchObject({ code: 'ERR_H2O_POSITION_OUT_OF_RANGE' })
  switch (draw(8)) {
    case 0:
      await context.prefill(text)
      return text
    case 1:
      if (has.length + text.length > context.nCtx) return has
      await context.prefill(text, { append: true })
      return [...has, ...text]
    case 2:
    case 3: {
      if (beyond) await refused(context.prefill(text, { from: at }))
      if (beyond || at + text.length > context.nCtx) return has
      expect((await context.prefill(text, { from: at })).cached).toBe(at)
      return [...has.slice(0, at), ...text]
    }
    case 4: {
      if (beyond) await refused(collect(context.generate(text, { ...options, from: at })))
      if (beyond || at + text.length + 5 > context.nCtx) return has
      // three at once: the last one is what stays
      const all = [1, 2, 3].map(() => collect(context.generate(text, { ...options, from: at })))
      const tokens = (await Promise.all(all)).map((one) => one.tokens)
      expect(tokens).toEqual([tokens[0], tokens[0], tokens[0]])
      return [...has.slice(0, at), ...text, ...(tokens[0] as number[]).slice(0, -1)]
    }
    case 5:
      if (beyond) await refused(context.truncate(at))
      else await context.truncate(at)
      return beyond ? has : has.slice(0, at)
    case 6: {
      const abort = new AbortController()
      const reading = context.prefill(text, { signal: abort.signal })
      setTimeout(() => abort.abort(), draw(4))
      await reading.catch((error) => expect(error.name).toBe('AbortError'))
      return text.slice(0, context.position)
    }
    default: {
      if (draw(2) === 0) saved.push({ state: await context.saveState(), tokens: has })
      if (saved.length === 0) return has
      const { state, tokens } = saved[draw(saved.length)] as Saved
      expect((await context.loadState(state)).position).toBe(tokens.length)
      return tokens
    }
  }
}

describe.each([
  ['with H2O', { local: 16, heavy: 16 }],
  ['without H2O', false],
] as const)('random calls %s', (_, h2o) => {
  it.each(Array.from({ length: 12 }, (_, i) => i + 1))('hold what they should: seed %i', async (seed) => {
    await using context = await tinyContext({ ...exact, h2o })
    await using fresh = await tinyContext({ ...exact, h2o: false })
    const draw = dice(seed)
    const saved: Saved[] = []
    let has: number[] = []
    for (let i = 0; i < nOps; i++) {
      has = await step(context, has, draw, saved)
      expect(context.position).toBe(has.length)
    }
    if (h2o || has.length === 0 || has.length === context.nCtx) return
    // dense attention does not care how the tokens came to be there
    const expected = (await fresh.prefill([...has, 65])).logits as Float32Array
    const { logits } = await context.decode(65)
    const power = expected.reduce((sum, value) => sum + value * value, 0)
    const error = expected.reduce((sum, value, i) => sum + (value - (logits?.[i] as number)) ** 2, 0)
    expect(error / power).toBeLessThan(1e-6)
  })
})
