// How long the prefill of one prompt takes in every setting.

import { spread } from '../../dist/cli/statistics.js'
import { contextOptions } from './reader.mjs'
import { keyOf } from './settings.mjs'

/**
 * In turns, so that all settings see the same machine; the first round warms up.
 *
 * @param {import('./settings.mjs').Setting[]} settings  @param {{ model: object, ids: number[], threads: number, rounds: number }} of
 * @returns {Promise<{ key: string, median: number, min: number, max: number }[]>} milliseconds; of dense first
 */
export async function prefillTimes(api, settings, { model, ids, threads, rounds }) {
  const options = { model, nCtx: ids.length, threads, flashAttn: 'auto' }
  const runners = []
  try {
    for (const setting of [null, ...settings]) {
      const ctx = await api.createContext(contextOptions(setting, options))
      runners.push({ key: setting ? keyOf(setting) : 'dense', ctx, ms: [] })
    }
    for (let round = 0; round <= rounds; round++) {
      for (const { ctx, ms } of runners) {
        const { timings } = await ctx.prefill(ids, { reuse: false })
        if (round > 0) ms.push(timings.promptMs)
      }
    }
    return runners.map(({ key, ms }) => ({ key, ...spread(ms) }))
  } finally {
    for (const { ctx } of runners) await ctx.dispose()
  }
}
