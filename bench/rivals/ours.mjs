// h2o-llama as a contender, in this process.

import { createContext } from '../../dist/index.js'
import { logOf } from '../quality/reader.mjs'

/** @param {import('../../dist/index.js').ContextOptions['h2o']} h2o */
export async function openOurs(h2o, { model, longest, threads }) {
  const options = { model, nCtx: longest + 64, nBatch: 4096, nThreads: threads, nThreadsBatch: threads }
  const ctx = await createContext({ ...options, h2o })
  return {
    async ask(ids, predict) {
      const before = process.cpuUsage()
      const start = performance.now()
      const settings = { nPredict: predict, temperature: 0, ignoreEos: true, reuse: false }
      const tokens = []
      let seconds
      for await (const { token } of ctx.generate(ids, settings)) {
        seconds ??= (performance.now() - start) / 1000
        tokens.push(token)
      }
      const { user, system } = process.cpuUsage(before)
      const whole = (performance.now() - start) / 1000
      return { seconds, whole, cpu: (user + system) / 1e6, tokens }
    },
    async logprobs(ids) {
      await ctx.truncate(0)
      const { logits } = await ctx.prefill(ids, { logits: 'all' })
      const width = logits.length / ids.length
      return ids.slice(1).map((token, i) => logOf(logits.subarray(i * width, (i + 1) * width), token))
    },
    close: () => ctx.dispose(),
  }
}
