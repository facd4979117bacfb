// Decoding with H2O against decoding without, on one model in one run: it must cost nothing.
//
//   node bench/decode.mjs [MODEL] [--pairs N] [--prompt N] [--tokens N]
//
// After a prefill of the same prompt each context decodes the same tokens one by
// one, in turns; the figure is the median of the paired ratios of tokens/s, by
// the clock and by CPU seconds. H2O off is the plain KV cache of stock llama.cpp.

import { parseArgs } from 'node:util'
import { demoModel } from '../dist/cli/bench/demo-model.js'
import { createContext, loadModel } from '../dist/index.js'
import { demoText } from '../dist/model-maker/index.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: 'string', default: '8' },
    prompt: { type: 'string', default: '3000' },
    tokens: { type: 'string', default: '64' },
  },
})

const model = await loadModel(positionals[0] ?? (await demoModel(4, console.error)))
const [pairs, nPrompt, nTokens] = [values.pairs, values.prompt, values.tokens].map(Number)
const prompt = model.tokenize(demoText(nPrompt, 1), { addSpecial: false })

const settings = { model, nCtx: nPrompt + nTokens, nBatch: 2048, nUbatch: 512 }
const contexts = { h2o: await createContext(settings), off: await createContext({ ...settings, h2o: false }) }
for (const context of Object.values(contexts)) await context.prefill(prompt, { logits: 'none' })

async function decode(context) {
  const cpu = process.cpuUsage()
  const start = performance.now()
  for (let i = 0; i < nTokens; i++) await context.decode(65 + (i % 26))
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  await context.truncate(nPrompt)
  return { ms, cpuMs: (user + system) / 1000 }
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const ratios = { clock: [], cpu: [] }
for (let pair = 0; pair < pairs; pair++) {
  const order = pair % 2 === 0 ? ['h2o', 'off'] : ['off', 'h2o']
  const result = {}
  for (const name of order) result[name] = await decode(contexts[name])
  ratios.clock.push(result.off.ms / result.h2o.ms)
  ratios.cpu.push(result.off.cpuMs / result.h2o.cpuMs)
  console.error(
    `pair ${pair + 1}: ${((nTokens * 1000) / result.h2o.ms).toFixed(1)} against ${((nTokens * 1000) / result.off.ms).toFixed(1)} tok/s`,
  )
}
for (const [name, list] of Object.entries(ratios)) {
  console.log(
    `tokens/s with H2O over without, by ${name}: median ${median(list).toFixed(3)}, ${Math.min(...list).toFixed(3)} to ${Math.max(...list).toFixed(3)}`,
  )
}
for (const context of Object.values(contexts)) await context.dispose()
await model.dispose()
