#!/usr/bin/env node
// How long answers wait for their next token while a long prompt is read: sequences of one context, the same
// batched, and contexts of their own on the same cores, one after the other. Prints a table: gaps between the tokens of all chats, the tokens they got
// meanwhile, the seconds of the reader, and memory.

import { availableParallelism } from 'node:os'
import { percentile, spread } from '../../dist/cli/statistics.js'
import { loadModel } from '../../dist/index.js'
import { parseFlags } from '../flags.mjs'
import { table } from '../quality/markdown.mjs'
import { byTurns, mebibytes, someTokens, timed, WAYS } from './ways.mjs'

const HELP = `usage: node bench/serve/gaps.mjs -m MODEL [options]

  -m, --model FILE   any model
  --tokens N         of the prompt that is read (16000)
  --chats N          answers beside it, behind 500 tokens each (3)
  --runs N           of each way (3)
  -b N, -u N, -t N   batch, chunk and threads (2048, 512, all cores)
`

const values = parseFlags(HELP, {
  batch: 2048,
  ubatch: 512,
  tokens: 16000,
  chats: 3,
  runs: 3,
  threads: availableParallelism(),
})

const nTokens = values.tokens
const nChats = values.chats
const model = await loadModel(values.model)
const settings = {
  model,
  nCtx: nTokens + 512,
  nBatch: values.batch,
  nUbatch: values.ubatch,
  nThreads: values.threads,
}

/** Milliseconds between the tokens of a chat, until it is told to end. */
async function gapsOf(chat, seed, signal) {
  const gaps = []
  let last
  const answer = chat.generate(someTokens(500, seed, model.nVocab), {
    ignoreEos: true,
    temperature: 0,
    signal,
  })
  try {
    for await (const _ of answer) {
      const now = performance.now()
      if (last !== undefined) gaps.push(now - last)
      last = now
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return gaps
}

async function run(make) {
  const { contexts, sequences } = await make(settings, nChats + 1)
  const [reader, ...chats] = sequences
  const stop = new AbortController()
  const all = chats.map((chat, i) => gapsOf(chat, i + 2, stop.signal))
  const read = () => reader.prefill(someTokens(nTokens, 1, model.nVocab), { logits: 'none' })
  const { seconds, cpu } = await timed(read)
  stop.abort()
  const gaps = (await Promise.all(all)).flat()
  const mib = mebibytes(contexts)
  for (const context of contexts) await context.dispose()
  return { gaps, seconds, cpu, mib }
}

const names = Object.keys(WAYS)
const runs = await byTurns(names, values.runs, (name) => run(WAYS[name]))
await model.dispose()

const at = (fraction, numbers) =>
  percentile(
    numbers.toSorted((a, b) => a - b),
    fraction,
  )
const median = (numbers) => spread(numbers).median
console.log(
  table(
    ['', 'gap p50, ms', 'p99', 'longest', 'tokens', 'reader, s', 'CPU, s', 'MiB'],
    names.map((name) => {
      const own = runs.get(name)
      const gaps = own.flatMap((one) => one.gaps)
      return [
        name,
        at(0.5, gaps).toFixed(0),
        at(0.99, gaps).toFixed(0),
        Math.max(...gaps).toFixed(0),
        median(own.map((one) => one.gaps.length)).toFixed(0),
        median(own.map((one) => one.seconds)).toFixed(1),
        median(own.map((one) => one.cpu)).toFixed(1),
        own[0].mib.toFixed(0),
      ]
    }),
  ),
)
