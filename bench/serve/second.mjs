#!/usr/bin/env node
// The time to the first token of two people with the same document: the first has it read, and still gets the answer when
// the second asks. Through `h2o-prefill serve --parallel 2`, with a document of its own in each run.

import { spread } from '../../dist/cli/statistics.js'
import { demoText } from '../../dist/model-maker/index.js'
import { parseFlags } from '../flags.mjs'
import { table } from '../quality/markdown.mjs'
import { ask } from './client.mjs'
import { startServer } from './server-process.mjs'

const HELP = `usage: node bench/serve/second.mjs -m MODEL [options]

  -m, --model FILE    any model
  --characters N      of the document (16000)
  --runs N            (3)
  -c N, -b N, -u N    context, batch and chunk (20480, 2048, 512)
`

const values = parseFlags(HELP, { characters: 16000, runs: 3, context: 20480, batch: 2048, ubatch: 512 })

const server = await startServer({
  model: values.model,
  nCtx: values.context,
  nBatch: values.batch,
  nUbatch: values.ubatch,
  parallel: 2,
})
const nCharacters = values.characters
const text = demoText(nCharacters * (values.runs + 1))

const question = (document, content, max_tokens) => ({
  messages: [{ role: 'user', content: `${document}\n${content}` }],
  max_tokens,
  stream: true,
})

const times = { first: [], second: [] }
for (let run = 0; run < values.runs; run++) {
  const document = text.slice(run * nCharacters, (run + 1) * nCharacters)
  let first
  await new Promise((resolve, reject) => {
    first = ask(server.url, question(document, 'Who wrote this, and when?', 128), undefined, resolve)
    first.catch(reject)
  })
  const second = await ask(server.url, question(document, 'What is it about?', 8))
  times.first.push((await first).ttftMs)
  times.second.push(second.ttftMs)
}
await server.untilIdle()
await server.stop()

const seconds = (ms) => (ms / 1000).toFixed(2)
console.log(
  table(
    ['', 'median, s', 'least', 'most'],
    Object.entries(times).map(([name, list]) => {
      const { median, min, max } = spread(list)
      return [name, seconds(median), seconds(min), seconds(max)]
    }),
  ),
)
