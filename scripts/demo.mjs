#!/usr/bin/env node
// npm run demo (which builds first): what a user does with H2O. A document is read once and asked about, dense and
// sparse, on the model that the package brings. Then come the times on the layers of a real model. `--help` lists the
// options.

import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { resolvedH2o } from '../dist/options.js'
import { recall } from './demo/recall.mjs'
import { speed } from './demo/speed.mjs'
import { Failure, main } from './lib/fail.mjs'

const HELP = `usage: npm run demo [-- options]

  --tokens N    length of the document (8000); the model that answers was trained on 8192
  --layers N    layers of Qwen3-0.6B's shape, which has 28, for the second part; 0 leaves it out (4)
  -b N          logical batch (4096)
  -u N          physical batch, the chunk of H2O (1024)
`

await main(async () => {
  const { values } = parseArgs({
    options: {
      tokens: { type: 'string', default: '8000' },
      layers: { type: 'string', default: '4' },
      batch: { type: 'string', short: 'b', default: '4096' },
      ubatch: { type: 'string', short: 'u', default: '1024' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  const number = (name, least) => {
    const value = Number(values[name])
    if (!Number.isInteger(value) || value < least)
      throw new Failure(`--${name} ${values[name]} is no number`, HELP)
    return value
  }
  const layers = number('layers', 0)
  const settings = { nBatch: number('batch', 1), nUbatch: number('ubatch', 1) }
  const { local, heavy, denseTail } = resolvedH2o({}, settings.nUbatch)
  const job = { tokens: number('tokens', 256), settings, budget: { local, heavy, denseTail } }
  const { budget } = job
  const machine = `${availableParallelism()} cores of ${cpus()[0]?.model ?? 'an unnamed CPU'}`
  console.log(`H2O beside dense attention, on ${machine}.
H2O: chunks of ${settings.nUbatch} tokens. Each sees itself, the ${budget.local} tokens before it, and for
each of its blocks of 64 the ${budget.heavy} others that the block asks for. The last ${budget.denseTail} tokens
of a prompt see all of it.
`)

  const [start, cpu] = [performance.now(), process.cpuUsage()]
  await recall(job)
  if (layers > 0) await speed(job, layers)
  const { user, system } = process.cpuUsage(cpu)
  const share = (user + system) / 1000 / (performance.now() - start) / availableParallelism()
  if (share < 0.6) {
    console.log(`
Other programs had the processors, too: this one got ${Math.round(100 * share)} % of them. Times are
too long, and what one is of another is by chance.`)
  }
})
