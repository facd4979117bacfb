#!/usr/bin/env node
// Load on `h2o-prefill serve`: conversations of mixed length at once, some clients leave, and every answer is compared
// with a fresh context's. Batched, an answer may go another way where two tokens were as good as equally likely there,
// which is 'tied'. Prints one JSON object; the exit code is 1 if an answer was wrong or a request failed.

import { percentile } from '../../dist/cli/statistics.js'
import { parseFlags } from '../flags.mjs'
import { ask } from './client.mjs'
import { conversations } from './conversations.mjs'
import { freshAnswers } from './fresh-answers.mjs'
import { startServer } from './server-process.mjs'

const HELP = `usage: node bench/serve/load.mjs -m MODEL [options]

  -m, --model FILE    one token per byte: what npm run demo makes, or the model maker
  --seconds N         how long (600), and
  --requests N        at least so many requests (200)
  --concurrency N     clients at once (16)
  --parallel N        slots of the server (1)
  --cont-batching     with their tokens in one graph
  --leaving SHARE     of the clients leave before the answer ends (0.2)
  --longest N         tokens of the longest prompt (8000)
  -b N, -u N          batch and chunk (2048, 512)
`

const values = parseFlags(HELP, {
  batch: 2048,
  ubatch: 512,
  seconds: 600,
  requests: 200,
  concurrency: 16,
  parallel: 1,
  'cont-batching': false,
  leaving: 0.2,
  longest: 8000,
})

const settings = {
  model: values.model,
  nCtx: values.longest + 512,
  nBatch: values.batch,
  nUbatch: values.ubatch,
}
const isBatched = values['cont-batching']
/** Of two tokens: rounding does not make up for more. */
const mostLead = 0.1
const bodies = conversations(values.longest)
console.error(`answers of fresh contexts: ${bodies.length} requests`)
const answers = await freshAnswers(settings, bodies)

const server = await startServer({ ...settings, parallel: values.parallel, contBatching: isBatched })
for (const body of bodies.slice(0, 4)) await ask(server.url, body) // memory that comes with the first requests
const before = await server.rssBytes()
console.error(`load for ${values.seconds} seconds`)

const counts = { requests: 0, right: 0, tied: 0, wrong: 0, left: 0, failed: 0 }
const ttft = { h2o: [], dense: [] }
const random = randomFrom(7)
const began = performance.now()
const elapsed = () => (performance.now() - began) / 1000
let meanMs = 1000

async function client() {
  while (elapsed() < values.seconds || counts.requests < values.requests) {
    counts.requests++
    const i = Math.floor(random() * bodies.length)
    const leaveAfterMs = random() < values.leaving ? random() * 2 * meanMs : undefined
    try {
      const got = await ask(server.url, { ...bodies[i], stream: random() < 0.75 }, leaveAfterMs)
      if (got === 'left') counts.left++
      else {
        counts[verdict(got.text, answers[i])]++
        if (got.ttftMs !== undefined) ttft[got.path].push(got.ttftMs)
        meanMs += 0.1 * (got.ms - meanMs)
      }
    } catch (error) {
      counts.failed++
      console.error(`failed: ${error.message}`)
    }
  }
}

await Promise.all(Array.from({ length: values.concurrency }, client))
const seconds = elapsed()
await server.untilIdle()
const after = await server.rssBytes()
const code = await server.stop()

const mebibytes = (bytes) => Math.round(bytes / 2 ** 20)
const times = (list) => {
  const sorted = list.toSorted((a, b) => a - b)
  const at = (share) => (list.length === 0 ? null : Math.round(percentile(sorted, share)))
  return { n: list.length, p50: at(0.5), p99: at(0.99) }
}
const report = {
  ...counts,
  seconds: Math.round(seconds),
  ttft_ms: { h2o: times(ttft.h2o), dense: times(ttft.dense) },
  rss_mib: { before: mebibytes(before), after: mebibytes(after) },
  exit_code: code,
}
console.log(JSON.stringify(report))
process.exitCode = counts.wrong + counts.failed > 0 || code !== 0 ? 1 : 0

function verdict(got, { text, tokens }) {
  if (got === text) return 'right'
  const at = tokens.findLast(({ before }) => got.startsWith(before))
  return isBatched && at.lead < mostLead ? 'tied' : 'wrong'
}

function randomFrom(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
