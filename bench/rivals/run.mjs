#!/usr/bin/env node
// npm run bench:rivals: the same prompts here and in other engines, by turns. `--help` lists the options.

import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { describeMachine } from '../../dist/cli/machine.js'
import { spread } from '../../dist/cli/statistics.js'
import * as api from '../../dist/index.js'
import { count } from '../../scripts/lib/count.mjs'
import { main, UsageFailure } from '../../scripts/lib/fail.mjs'
import { books } from '../language/books.mjs'
import { insideTasks, makeInside } from '../language/inside.mjs'
import { kinds, SKIP, windows } from '../language/predict.mjs'
import { table } from '../quality/markdown.mjs'
import { contenders, missing, onDemand } from './contenders.mjs'

const HELP = `usage: npm run bench:rivals -- -m FILE.gguf [options]

  --lengths LIST   prompts of so many tokens (4096)
  --tasks LIST     what is asked (${insideTasks.map(({ name }) => name).join(',')})
  --items N        questions of each task and length, the last ones of its prompt (4)
  --windows N      of each kind of text (${kinds.join(', ')}) and length, for perplexities (0)
  --answer N       tokens of an answer behind each window: whole requests (1)
  --contenders LIST  who takes part; all is paired with the first one's (all:
                   ${Object.keys(contenders).join(', ')}); or
                   ${Object.keys(onDemand).join(', ')}
  -t N             threads (all cores)

Every contender reads the same tokens up to a question, and answers it. Its answer is right where its tokens are. Of a
window it says how likely each token was, from position ${SKIP} on; its time is that of a prefill without that.
Stock llama.cpp, both with -fa on and off, and ik_llama.cpp only tell their time. \`npm run bench:stock\` builds stock;
IK_LLAMA_BENCH names the llama-bench of a build of ik_llama.cpp. OpenVINO is skipped where Python (PYTHON names it) lacks
openvino-genai and openvino-tokenizers, and node-llama-cpp where it is not installed (npm install --no-save
node-llama-cpp).
`

/** @returns {{ ids: number[], answer: number[] }[]} */
function questions(model, task, length, count) {
  const { ids, asks } = makeInside(model, { seed: 1, essay: books()[0].texts.join('\n') }, task, length, 0)
  return asks
    .slice(-count)
    .map(({ at, answer }) => ({ ids: Array.from(ids.slice(0, at)), answer: Array.from(answer) }))
}

/** @returns {{ ids: number[], predict: number }[]} */
function texts(model, length, most, predict) {
  return kinds
    .flatMap((kind) => windows(model, { kind, library: books(), seed: 1, length, most }))
    .map(({ text }) => ({ ids: Array.from(model.tokenize(text)).slice(0, length), predict }))
}

async function askQuestion(contender, { ids, answer }) {
  const { tokens, ...run } = await contender.ask(ids, answer.length)
  return { ...run, ...(tokens && { right: answer.every((token, j) => tokens[j] === token) }) }
}

async function readText(contender, { ids, predict }) {
  const run = await contender.ask(ids, predict)
  const logprobs = predict === 1 && (await contender.logprobs?.(ids))?.slice(SKIP)
  return { ...run, ...(logprobs && { loss: -logprobs.reduce((a, b) => a + b) / logprobs.length }) }
}

/** Runs by contender and item: each item goes around, and each begins with another one. */
async function byTurns(opened, items, once) {
  const runs = opened.map(() => [])
  for (const [turn, item] of items.entries()) {
    for (let i = 0; i < opened.length; i++) {
      const at = (turn + i) % opened.length
      const [name, contender] = opened[at]
      const run = await once(contender, item)
      runs[at].push(run)
      console.error(
        `${turn + 1} of ${items.length}, ${name}: ${(run.whole ?? run.seconds).toFixed(1)} s, ${run.cpu.toFixed(1)} of CPU`,
      )
    }
  }
  return runs
}

const ranged = ({ median, min, max }, digits) =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}..${max.toFixed(digits)})`

function timesOf(runs, first) {
  return [
    spread(runs.map(({ seconds }) => seconds)).median.toFixed(1),
    ranged(spread(runs.map(({ seconds }, i) => seconds / first[i].seconds)), 2),
    spread(runs.map(({ cpu }) => cpu)).median.toFixed(1),
  ]
}

function answersOf(runs, first) {
  if (runs[0].right === undefined || first[0].right === undefined) return ['', '']
  const lost = runs.filter(({ right }, i) => first[i].right && !right).length
  const won = runs.filter(({ right }, i) => !first[i].right && right).length
  return [`${runs.filter(({ right }) => right).length} of ${runs.length}`, `−${lost} +${won}`]
}

function perplexityOf(runs, first) {
  if (runs[0].loss === undefined || first[0].loss === undefined) return ['']
  return [ranged(spread(runs.map(({ loss }, i) => Math.exp(loss - first[i].loss))), 3)]
}

function wholeOf(runs, first) {
  if (runs[0].whole === undefined || first[0].whole === undefined) return ['', '']
  return [
    spread(runs.map(({ whole }) => whole)).median.toFixed(1),
    ranged(spread(runs.map(({ whole }, i) => whole / first[i].whole)), 2),
  ]
}

function report(opened, runs, head, cells) {
  const first = opened[0][0]
  const rows = opened.map(([name], i) => [name, ...cells(runs[i], runs[0]), ...timesOf(runs[i], runs[0])])
  console.log(`${table([...head, 'TTFT, s', `of ${first}, paired`, 'CPU, s'], rows)}\n`)
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      model: { type: 'string', short: 'm' },
      lengths: { type: 'string', default: '4096' },
      tasks: { type: 'string', default: insideTasks.map(({ name }) => name).join(',') },
      items: { type: 'string', default: '4' },
      windows: { type: 'string', default: '0' },
      answer: { type: 'string', default: '1' },
      contenders: { type: 'string', default: Object.keys(contenders).join(',') },
      threads: { type: 'string', short: 't', default: String(availableParallelism()) },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  const file = values.model
  if (!file) throw new UsageFailure('-m FILE.gguf is missing.')
  const threads = count('-t', values.threads, 1)
  const nQuestions = count('--items', values.items, 0)
  const nWindows = count('--windows', values.windows, 0)
  const nAnswer = count('--answer', values.answer, 1)
  if (nQuestions + nWindows === 0) throw new UsageFailure('--items 0 and --windows 0 leave nothing to read.')
  const lengths = values.lengths.split(',').map((text) => count('--lengths', text, 2048))
  const tasks = values.tasks.split(',').map(taskNamed)
  const names = values.contenders.split(',').map(contenderNamed)
  const model = await api.loadModel(file)
  for (const one of missing()) console.error(`skipped: ${one}`)

  const { cpu, cores } = describeMachine()
  console.log(`${file}, ${threads} threads, ${cpu}, ${cores} cores\n`)
  for (const length of lengths) {
    const asked = nQuestions ? tasks.flatMap((task) => questions(model, task, length, nQuestions)) : []
    const read = nWindows ? texts(model, length, nWindows, nAnswer) : []
    const longest = Math.max(
      ...asked.map(({ ids, answer }) => ids.length + answer.length),
      ...read.map(({ ids, predict }) => ids.length + predict),
    )
    const opened = []
    try {
      for (const name of names) {
        const contender = await { ...contenders, ...onDemand }[name]({ model, file, threads, longest })
        if (contender) opened.push([name, contender])
      }
      if (opened.length === 0) throw new UsageFailure('None of the contenders is here.')
      const to = `to ${opened[0][0]}`
      if (asked.length > 0) {
        const head = [`${length} tokens, ${asked.length} questions`, 'right', to]
        report(opened, await byTurns(opened, asked, askQuestion), head, answersOf)
      }
      if (read.length > 0 && nAnswer > 1) {
        const head = [
          `${length} tokens, ${read.length} texts`,
          `with ${nAnswer} tokens, s`,
          `of ${opened[0][0]}, paired`,
        ]
        report(opened, await byTurns(opened, read, readText), head, wholeOf)
      } else if (read.length > 0) {
        const head = [`${length} tokens, ${read.length} texts`, `perplexity ${to}`]
        report(opened, await byTurns(opened, read, readText), head, perplexityOf)
      }
    } finally {
      for (const [, contender] of opened) await contender.close() // a process that is left keeps this one
    }
  }
})

function contenderNamed(name) {
  if (name in contenders || name in onDemand) return name
  const all = [...Object.keys(contenders), ...Object.keys(onDemand)]
  throw new UsageFailure(`there is no contender ${name}: ${all.join(', ')}.`)
}

function taskNamed(name) {
  if (insideTasks.some((task) => task.name === name)) return name
  throw new UsageFailure(`there is no task ${name}: ${insideTasks.map((task) => task.name).join(', ')}.`)
}
