#!/usr/bin/env node
// npm run bench:rivals: questions inside of a prompt, here and in other engines, by turns. `--help` lists the options.

import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { describeMachine } from '../../dist/cli/machine.js'
import { spread } from '../../dist/cli/statistics.js'
import * as api from '../../dist/index.js'
import { count } from '../../scripts/lib/count.mjs'
import { main, UsageFailure } from '../../scripts/lib/fail.mjs'
import { books } from '../language/books.mjs'
import { insideTasks, makeInside } from '../language/inside.mjs'
import { table } from '../quality/markdown.mjs'
import { genaiPython, openGenai } from './genai.mjs'
import { hasIkLlama, openIkLlama } from './ik-llama.mjs'
import { hasNodeLlamaCpp, openNodeLlamaCpp } from './node-llama-cpp.mjs'
import { hasStock, openStock } from './stock.mjs'

/** Each opens a contender, or gives nothing where its program is missing. */
const CONTENDERS = {
  dense: ({ model, ...limits }) => openOurs(model, false, limits),
  query: ({ model, ...limits }) => openOurs(model, { select: 'query' }, limits),
  'stock -fa on': (run) => hasStock() && openStock({ ...run, flashAttn: 'on' }),
  'stock -fa off': (run) => hasStock() && openStock({ ...run, flashAttn: 'off' }),
  'ik_llama.cpp': (run) => hasIkLlama() && openIkLlama(run),
  'node-llama-cpp': (run) => hasNodeLlamaCpp() && openNodeLlamaCpp(run),
  'OpenVINO dense': (run) => run.program && openGenai(run.program, { ...run, mode: 'dense' }),
  'OpenVINO xattention': (run) => run.program && openGenai(run.program, { ...run, mode: 'xattention' }),
  'OpenVINO trishape': (run) => run.program && openGenai(run.program, { ...run, mode: 'trishape' }),
}

const HELP = `usage: npm run bench:rivals -- -m FILE.gguf [options]

  --lengths LIST   prompts of so many tokens (4096)
  --tasks LIST     what is asked (${insideTasks.map(({ name }) => name).join(',')})
  --items N        questions of each task and length, the last ones of its prompt (4)
  --contenders LIST  who takes part; times are paired with the first one's (all:
                   ${Object.keys(CONTENDERS).join(', ')})
  -t N             threads (all cores)

Every contender reads the same tokens up to a question, and answers it. Its answer is right where its tokens are.
Stock llama.cpp, both with -fa on and off, and ik_llama.cpp only tell their time. \`npm run bench:stock\` builds stock;
IK_LLAMA_BENCH names the llama-bench of a build of ik_llama.cpp. OpenVINO is skipped where Python (PYTHON names it) lacks
openvino-genai and openvino-tokenizers, and node-llama-cpp where it is not installed (npm install --no-save
node-llama-cpp).
`

/** @returns {{ task: string, ids: number[], answer: number[] }[]} */
function questions(model, task, length, count) {
  const { ids, asks } = makeInside(model, { seed: 1, essay: books()[0].texts.join('\n') }, task, length, 0)
  return asks
    .slice(-count)
    .map(({ at, answer }) => ({ task, ids: Array.from(ids.slice(0, at)), answer: Array.from(answer) }))
}

async function openOurs(model, h2o, { longest, threads }) {
  const common = { model, nCtx: longest + 64, nBatch: 4096, nThreads: threads, nThreadsBatch: threads }
  const ctx = await api.createContext({ ...common, h2o })
  return {
    async ask(ids, predict) {
      const before = process.cpuUsage()
      const start = performance.now()
      const generation = ctx.generate(ids, {
        nPredict: predict,
        temperature: 0,
        ignoreEos: true,
        reuse: false,
      })
      const tokens = []
      let seconds
      for await (const { token } of generation) {
        seconds ??= (performance.now() - start) / 1000
        tokens.push(token)
      }
      const { user, system } = process.cpuUsage(before)
      return { seconds, cpu: (user + system) / 1e6, tokens }
    },
    close: () => ctx.dispose(),
  }
}

function rowOf(name, runs, first) {
  const ratio = spread(runs.map(({ seconds }, i) => seconds / first[i].seconds))
  const answers = runs[0].right === undefined ? ['', ''] : answersOf(runs, first)
  return [
    name,
    ...answers,
    spread(runs.map(({ seconds }) => seconds)).median.toFixed(1),
    `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}..${ratio.max.toFixed(2)})`,
    spread(runs.map(({ cpu }) => cpu)).median.toFixed(1),
  ]
}

function answersOf(runs, first) {
  const lost = runs.filter(({ right }, i) => first[i].right && !right).length
  const won = runs.filter(({ right }, i) => !first[i].right && right).length
  return [`${runs.filter(({ right }) => right).length} of ${runs.length}`, `−${lost} +${won}`]
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      model: { type: 'string', short: 'm' },
      lengths: { type: 'string', default: '4096' },
      tasks: { type: 'string', default: insideTasks.map(({ name }) => name).join(',') },
      items: { type: 'string', default: '4' },
      contenders: { type: 'string', default: Object.keys(CONTENDERS).join(',') },
      threads: { type: 'string', short: 't', default: String(availableParallelism()) },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  const file = values.model
  if (!file) throw new UsageFailure('-m FILE.gguf is missing.')
  const threads = count('-t', values.threads, 1)
  const each = count('--items', values.items, 1)
  const lengths = values.lengths.split(',').map((text) => count('--lengths', text, 2048))
  const tasks = values.tasks.split(',').map(taskNamed)
  const names = values.contenders.split(',').map(contenderNamed)
  const model = await api.loadModel(file)
  const program = genaiPython()
  if (!program) console.error('skipped: OpenVINO GenAI, which this Python does not have (--help)')
  if (!hasNodeLlamaCpp()) console.error('skipped: node-llama-cpp, which is not installed (--help)')
  if (!hasIkLlama()) console.error('skipped: ik_llama.cpp, whose llama-bench IK_LLAMA_BENCH would name')
  if (!hasStock()) console.error('skipped: stock llama.cpp, which `npm run bench:stock` builds')

  const { cpu, cores } = describeMachine()
  console.log(`${file}, ${threads} threads, ${cpu}, ${cores} cores\n`)
  for (const length of lengths) {
    const items = tasks.flatMap((task) => questions(model, task, length, each))
    const longest = Math.max(...items.map(({ ids, answer }) => ids.length + answer.length))
    const contenders = []
    const runs = []
    try {
      for (const name of names) {
        const contender = await CONTENDERS[name]({ model, file, program, threads, longest })
        if (contender) contenders.push([name, contender])
      }
      runs.push(...contenders.map(() => []))
      for (const [turn, { ids, answer }] of items.entries()) {
        for (let i = 0; i < contenders.length; i++) {
          const at = (turn + i) % contenders.length
          const { tokens, ...run } = await contenders[at][1].ask(ids, answer.length)
          runs[at].push({ ...run, ...(tokens && { right: answer.every((token, j) => tokens[j] === token) }) })
        }
      }
    } finally {
      for (const [, contender] of contenders) await contender.close() // a process that is left keeps this one
    }
    const head = [
      `${length} tokens`,
      'right',
      `to ${names[0]}`,
      'TTFT, s',
      `of ${names[0]}, paired`,
      'CPU, s',
    ]
    console.log(
      `${table(
        head,
        contenders.map(([name], i) => rowOf(name, runs[i], runs[0])),
      )}\n`,
    )
  }
})

function contenderNamed(name) {
  if (name in CONTENDERS) return name
  throw new UsageFailure(`there is no contender ${name}: ${Object.keys(CONTENDERS).join(', ')}.`)
}

function taskNamed(name) {
  if (insideTasks.some((task) => task.name === name)) return name
  throw new UsageFailure(`there is no task ${name}: ${insideTasks.map((task) => task.name).join(', ')}.`)
}
