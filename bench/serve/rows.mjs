#!/usr/bin/env node
// Tokens per second of answers at once behind one text, and the memory that they take: questions to one document
// (kvUnified), sequences of one context by turns and batched, and contexts of their own, one after the other. The text is read once per way.

import { availableParallelism } from 'node:os'
import { spread } from '../../dist/cli/statistics.js'
import { createContext, loadModel } from '../../dist/index.js'
import { parseFlags } from '../flags.mjs'
import { table } from '../quality/markdown.mjs'
import { byTurns, mebibytes, someTokens, timed, WAYS } from './ways.mjs'

const HELP = `usage: node bench/serve/rows.mjs -m MODEL [options]

  -m, --model FILE   any model
  --tokens N         of the text (8000)
  --rows LIST        answers at once (1,2,4,8)
  --predict N        tokens of an answer (64)
  --runs N           of each way (3)
  -b N, -u N, -t N   batch, chunk and threads (2048, 512, all cores)
`

const values = parseFlags(HELP, {
  batch: 2048,
  ubatch: 512,
  tokens: 8000,
  rows: '1,2,4,8',
  predict: 64,
  runs: 3,
  threads: availableParallelism(),
})

const nTokens = values.tokens
const nPredict = values.predict
const room = nPredict + 64
const model = await loadModel(values.model)
const settings = {
  model,
  nBatch: values.batch,
  nUbatch: values.ubatch,
  nThreads: values.threads,
  onWarning() {},
}
const text = someTokens(nTokens, 1, model.nVocab)
const options = { nPredict, temperature: 0, ignoreEos: true }

/** Reads the text, and gives who is asked about it. */
const ways = {
  'one document': async (n) => {
    const nCtx = nTokens + n * room
    const context = await createContext({ ...settings, nCtx, parallel: n + 1, kvUnified: true })
    const document = await context.read(text)
    return { contexts: [context], askers: Array.from({ length: n }, () => document) }
  },
  ...Object.fromEntries(
    Object.entries(WAYS).map(([name, make]) => [
      name,
      async (n) => {
        const { contexts, sequences } = await make({ ...settings, nCtx: nTokens + room }, n)
        const [first, ...others] = sequences
        const askers = [await first.read(text)]
        const state = others.length > 0 && (await askers[0].save())
        for (const other of others) askers.push(await other.loadDocument(state))
        return { contexts, askers }
      },
    ]),
  ),
}

async function answer(document, seed) {
  for await (const _ of document.ask(someTokens(24, seed, model.nVocab), options));
}

async function run(make, n) {
  const { contexts, askers } = await make(n)
  await answer(askers[0], 99) // memory and threads
  const all = () => Promise.all(askers.map((asker, i) => answer(asker, i + 2)))
  const { seconds, cpu } = await timed(all)
  const mib = mebibytes(contexts)
  for (const context of contexts) await context.dispose()
  return { rate: (n * nPredict) / seconds, cpu: (1000 * cpu) / (n * nPredict), mib }
}

const names = Object.keys(ways)
const rows = []
for (const n of values.rows.split(',').map(Number)) {
  const runs = await byTurns(names, values.runs, (name) => run(ways[name], n))
  for (const name of names) {
    const of = (figure) => spread(runs.get(name).map((one) => one[figure])).median
    rows.push([n, name, of('rate').toFixed(1), of('cpu').toFixed(1), of('mib').toFixed(0)])
  }
}
await model.dispose()
console.log(table(['at once', '', 'tokens/s', 'CPU ms a token', 'MiB'], rows))
