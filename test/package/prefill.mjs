// A small sparse prefill by the installed package, as a service would do it: its text and logits, as JSON.

import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createContext } from 'h2o-llama'

const packageFolder = dirname(createRequire(import.meta.url).resolve('h2o-llama/package.json'))

async function prefill(model, text, options = {}) {
  const h2o = { local: 4, heavy: 4, denseTail: 8 }
  const context = await createContext({
    model,
    nCtx: 512,
    nBatch: 64,
    nUbatch: 16,
    nThreads: 1,
    h2o,
    ...options,
  })
  const { path, logits } = await context.prefill(text)
  const first = Int32Array.of(logits.indexOf(Math.max(...logits)))
  const answer = [context.model.detokenize(first)]
  for await (const token of context.generate(first, { append: true, nPredict: 2, temperature: 0 }))
    answer.push(token.text)
  await context.dispose()
  return { path, answer: answer.join(''), logits: Array.from(logits) }
}

const prefills = {
  recall: (text) => prefill(join(packageFolder, 'model/recall-q8_0.gguf'), text),
  f32: (text) => prefill('f32.gguf', text.slice(0, 80), { typeK: 'f32', typeV: 'f32', flashAttn: 'off' }),
}

const [which, text] = process.argv.slice(2)
console.log(JSON.stringify(await prefills[which](text)))
