#!/usr/bin/env node
// npm run demo (which builds first): the main job on something that is there. Makes a model of Qwen3-0.6B's layer shape with random weights
// and fewer layers, prefills a long text dense and with H2O, and prints what it measured. `--help` lists the options.

import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { main } from './lib/fail.mjs'

const HELP = `usage: npm run demo [-- options]

  --tokens N    length of the text (8192)
  --layers N    layers of the model; Qwen3-0.6B has 28 (4)
  --predict N   tokens to generate (16)
  -b N          logical batch (4096)
  -u N          physical batch, the chunk of H2O (1024)
`

const BUDGET = { local: 256, heavy: 256 }

await main(async () => {
  const { values } = parseArgs({
    options: {
      tokens: { type: 'string', default: '8192' },
      layers: { type: 'string', default: '4' },
      predict: { type: 'string', default: '16' },
      batch: { type: 'string', short: 'b', default: '4096' },
      ubatch: { type: 'string', short: 'u', default: '1024' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  const [tokens, layers, nPredict, nBatch, nUbatch] = ['tokens', 'layers', 'predict', 'batch', 'ubatch'].map(
    (name) => Number(values[name]),
  )

  const { createContext, loadModel } = await import('../dist/index.js')
  const { demoText } = await import('../dist/model-maker/index.js')
  const { demoModel } = await import('../dist/cli/bench/demo-model.js')

  const path = await demoModel(layers, console.log)
  const text = demoText(tokens)
  const model = await loadModel(path)

  const measure = async (h2o) => {
    const context = await createContext({ model, nCtx: tokens + nPredict, nBatch, nUbatch, h2o })
    try {
      await context.prefill(text.slice(0, 32), { logits: 'none' }) // the first pass reads the weights from the disk
      return await generate(context, text, nPredict)
    } finally {
      await context.dispose()
    }
  }

  console.log(`${tokens} tokens, ${layers} layers, -b ${nBatch} -ub ${nUbatch}, on ${cores()}\n`)
  const dense = report('dense', await measure(false))
  const sparse = report('h2o', await measure(BUDGET))
  await model.dispose()

  const ratio = dense.ttft / sparse.ttft
  console.log(`time to first token, dense / h2o: ${ratio.toFixed(2)}`)
  console.log(
    'The weights are random: the tokens mean nothing, and how H2O changes a text needs a trained model to see.',
  )
})

async function generate(context, text, nPredict) {
  const start = performance.now()
  const generation = context.generate(text, { nPredict, temperature: 0, ignoreEos: true })
  let ttft
  for (;;) {
    const { done, value } = await generation.next()
    if (done) return { ttft: ttft ?? performance.now() - start, summary: value, h2o: context.h2o }
    ttft ??= performance.now() - start
  }
}

function report(name, result) {
  const { ttft, summary, h2o } = result
  const { path, reason, calls, chunks } = summary.prefill
  const how = path === 'h2o' ? `${chunks} chunks of ${h2o.chunk}, L=${h2o.local} H=${h2o.heavy}` : reason
  console.log(`${name}
  path          ${path} (${how}), calls of ${calls.map((call) => call.n).join(' + ')} tokens
  first token   after ${(ttft / 1000).toFixed(2)} s
  next tokens   ${JSON.stringify(summary.text)}
`)
  return result
}

function cores() {
  return `${availableParallelism()} cores of ${cpus()[0]?.model ?? 'an unnamed CPU'}`
}
