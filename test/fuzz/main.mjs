#!/usr/bin/env node
// npm run fuzz: mutants by the minute; see HELP. Findings go to build/fuzz, one JSON line each, with the recipe that
// makes them.

import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { main, UsageFailure } from '../../scripts/lib/fail.mjs'
import { Draw } from './draw.mjs'
import { Pool } from './pool.mjs'

const KINDS = [
  'gguf',
  'split',
  'vocab',
  'lora',
  'state',
  'flags',
  'api',
  'grammar',
  'chat',
  'template',
  'windows',
  'sequences',
  'http',
]
/** So long a finding is made smaller. */
const SHRINK_MS = 60_000
const CORPUS = new URL('./corpus.json', import.meta.url)

const HELP = `usage: npm run fuzz -- [options]       after npm run build

  --minutes N    for so long, over all kinds (default: 10)
  --runs N       or so many mutants of each kind
  --kind KIND    only ${KINDS.join(', ')}; may be given several times
  --seed S       the first seed (default: from the clock); each mutant has the next
  --jobs N       processes at a time (default: 1)
  --corpus       replay the mutants that once broke something, and nothing else
  --recipe JSON  this one mutant, as a finding has it

A mutant may be refused with a code. It may not end or hang the process (20 s), take more than 4 GB, fail without a code, or
give an answer that is wrong. Findings are made smaller for a minute (fast-check) and go to build/fuzz/findings.jsonl; one that was mended belongs into test/fuzz/corpus.json.
Exit code 1: there was a finding.
`

const OPTIONS = {
  minutes: { type: 'string', default: '10' },
  runs: { type: 'string' },
  kind: { type: 'string', multiple: true, default: KINDS },
  seed: { type: 'string', default: String(Math.floor(Date.now() / 1000)) },
  jobs: { type: 'string', default: '1' },
  corpus: { type: 'boolean' },
  recipe: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
}

const out = fileURLToPath(new URL('../../build/fuzz/', import.meta.url))
let values
let nFindings = 0
/** Ctrl-C and SIGTERM: the mutant at hand is the last one, and what ran is counted. */
let isStopped = false
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    isStopped = true
  })
}

await main(() => {
  values = parseArgs({ options: OPTIONS }).values
  return values.help ? process.stdout.write(HELP) : fuzz()
})

async function fuzz() {
  check()
  mkdirSync(out, { recursive: true })
  const pool = new Pool()
  const asIs = async (recipe) => ({ recipe, ...(await pool.one(recipe)) })
  if (values.corpus) report('corpus', await series(JSON.parse(readFileSync(CORPUS, 'utf8')), asIs))
  else if (values.recipe) report('recipe', await series([JSON.parse(values.recipe)], asIs))
  else {
    for (const kind of values.kind) {
      const { recipe } = await import(`./kinds/${kind}.mjs`)
      report(kind, await series(seeds(), (seed) => trial(pool, recipe, seed)))
    }
  }
  pool.close()
  process.exitCode = nFindings > 0 ? 1 : 0
}

function check() {
  for (const name of ['minutes', 'runs', 'seed', 'jobs']) {
    const value = values[name]
    if (value !== undefined && !(Number(value) > 0))
      throw new UsageFailure(`--${name} takes a number above 0, not ${value}`)
  }
  const unknown = values.kind.find((kind) => !KINDS.includes(kind))
  if (unknown) throw new UsageFailure(`--kind takes one of ${KINDS.join(', ')}, not ${unknown}`)
}

function* seeds() {
  const first = Number(values.seed)
  const runs = values.runs === undefined ? Number.POSITIVE_INFINITY : Number(values.runs)
  const end = Date.now() + (Number(values.minutes) * 60_000) / values.kind.length
  for (let i = 0; i < runs && !isStopped && (Number.isFinite(runs) || Date.now() < end); i++) {
    yield first + i
  }
}

/** One mutant; a finding comes back as the smallest that was still one. */
async function trial(pool, recipe, seed) {
  let found
  let end = Number.POSITIVE_INFINITY
  const property = fc.asyncProperty(fc.gen(), async (gen) => {
    if (Date.now() > end) return
    const mutant = { seed, ...recipe(Draw.by(gen), seed) }
    const result = await pool.one(mutant)
    if (result.finding === undefined) found ??= { recipe: mutant, ...result }
    else {
      found = { recipe: mutant, ...result }
      end = Math.min(end, Date.now() + SHRINK_MS)
      throw new Error(result.finding)
    }
  })
  await fc.check(property, { seed, numRuns: 1, unbiased: true })
  return found
}

/** Runs `one` for each of the items, in as many lanes as there are jobs. */
async function series(items, one) {
  const outcomes = {}
  const seen = new Set()
  let last
  const count = ({ recipe, outcome, finding }) => {
    const { seed, ...mutant } = recipe
    last = seed
    seen.add(createHash('sha1').update(JSON.stringify(mutant)).digest('base64'))
    const name = finding === undefined ? outcome : 'FINDING'
    outcomes[name] = (outcomes[name] ?? 0) + 1
    if (finding === undefined) return
    nFindings++
    console.error(`${recipe.kind} seed ${seed}: ${finding.slice(0, 400)}`)
    appendFileSync(`${out}findings.jsonl`, `${JSON.stringify({ finding, recipe })}\n`)
  }
  const iterator = items[Symbol.iterator]()
  const lane = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) count(await one(next.value))
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, lane))
  return { distinct: seen.size, last, outcomes }
}

function report(kind, { distinct, last, outcomes }) {
  const runs = Object.values(outcomes).reduce((sum, n) => sum + n, 0)
  const seeds = last === undefined ? {} : { seeds: [Number(values.seed), last] }
  const sorted = Object.fromEntries(Object.entries(outcomes).sort(([, a], [, b]) => b - a))
  console.log(JSON.stringify({ kind, runs, distinct, ...seeds, outcomes: sorted }))
}
