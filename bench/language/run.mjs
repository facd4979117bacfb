#!/usr/bin/env node
// npm run quality:language: what H2O costs on a real language model, as a dated report. `--help` lists the options.

import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine } from '../../dist/cli/machine.js'
import * as api from '../../dist/index.js'
import { count } from '../../scripts/lib/count.mjs'
import { Failure, main } from '../../scripts/lib/fail.mjs'
import { PROJECT_ROOT } from '../../scripts/lib/layout.mjs'
import { catalogue, modelNamed, whereIs } from '../../scripts/lib/models.mjs'
import { buildInfo } from '../build-info.mjs'
import { resultBase, writeReport } from '../result-files.mjs'
import { insideTasks } from './inside.mjs'
import { Journal } from './journal.mjs'
import { measure } from './measure.mjs'
import { kinds } from './predict.mjs'
import { markdown } from './report.mjs'
import { tasks } from './ruler.mjs'
import { settings } from './settings.mjs'

/** Of what the items and windows are, and what is kept of them: one more where it changes. */
const ITEMS = 7

const labels = (some) => some.map(({ label }) => label).join(';')
const byDefault = labels(settings.filter(({ onDemand }) => !onDemand))
const onDemand = labels(settings.filter(({ onDemand }) => onDemand))
const askedInside = settings.filter(({ inside }) => inside)

const HELP = `usage: npm run quality:language -- [options]

  -m NAME           ${catalogue.map(({ name }) => name).join(', ')} (smollm2-135m)
  --lengths LIST    prompts of so many tokens (4096,8192)
  --tasks LIST      none, or all of RULER's (${tasks.map(({ name }) => name).join(', ')})
  --items N         of each task and length (10)
  --inside N        prompts with questions inside, of each kind and length (2; ${insideTasks.map(({ name }) => name).join(', ')})
  --alone N         questions of each such prompt that are asked alone, too: at its end, and in a turn behind it (0)
  --rounding        these questions also by llama.cpp's own products and attention, dense: what rounding alone changes
  --windows N       of each kind of text (${kinds.join(', ')}) and length, for perplexities (10)
  --settings LIST   what is compared with dense (${byDefault}); or
                    ${onDemand}
                    inside of prompts are asked: ${labels(askedInside)}
  --seed N          of the items (1)
  -t N              threads (all cores)
  --out FOLDER      where the result goes (bench/results)

Needs npm run build and npm run models -- NAME, and fetches its texts from npm once. A run that was interrupted goes on
where it was when it is started again with the same options: build/quality/ keeps what is measured.
`

await main(async () => {
  const { values } = parseArgs({
    options: {
      model: { type: 'string', short: 'm', default: 'smollm2-135m' },
      lengths: { type: 'string', default: '4096,8192' },
      tasks: { type: 'string', default: tasks.map(({ name }) => name).join(',') },
      items: { type: 'string', default: '10' },
      inside: { type: 'string', default: '2' },
      alone: { type: 'string', default: '0' },
      rounding: { type: 'boolean', default: false },
      windows: { type: 'string', default: '10' },
      settings: { type: 'string', default: byDefault },
      seed: { type: 'string', default: '1' },
      threads: { type: 'string', short: 't', default: String(availableParallelism()) },
      out: { type: 'string', default: join(PROJECT_ROOT, 'bench/results') },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  const model = modelNamed(values.model)
  const file = whereIs(model)
  if (!file) throw new Failure(`${model.file} is not in models/.`, `npm run models -- ${model.name}`)
  const options = {
    lengths: values.lengths.split(',').map((text) => count('--lengths', text, 2048)),
    tasks: values.tasks === 'none' ? [] : values.tasks.split(',').map(taskNamed),
    items: count('--items', values.items, 1),
    inside: count('--inside', values.inside, 0),
    alone: count('--alone', values.alone, 0),
    otherDense: values.rounding,
    windows: count('--windows', values.windows, 0),
    settings: values.settings.split(';').map(settingNamed),
    seed: count('--seed', values.seed, 0),
  }
  if (options.inside > 0 && !askedInside.some(({ label }) => options.settings.includes(label)))
    throw new Failure(
      'no setting that is named is asked inside of prompts.',
      `Name one of these, too, or give --inside 0: ${labels(askedInside)}`,
    )
  for (const length of options.lengths)
    if (length > model.context) throw new Failure(`${model.name} reads ${model.context} tokens at most.`)

  const threads = count('-t', values.threads, 1)
  const { lengths, items, inside, alone, seed } = options
  const machine = describeMachine()
  const name = ['language', model.name, ...lengths, ...(seed === 1 ? [] : [`seed-${seed}`])].join('-')
  // more items or windows go on from the same journal
  const journal = new Journal(join(PROJECT_ROOT, `build/quality/${name}.jsonl`), {
    sha256: model.sha256,
    machine: machine.cpu,
    items: ITEMS,
  })
  const { chat, sha256 } = model
  const figures = await measure(api, { ...options, file, chat, threads }, journal, (line) =>
    console.error(line),
  )
  const result = {
    date: new Date().toISOString().slice(0, 10),
    machine,
    build: buildInfo(PROJECT_ROOT),
    model: { name: model.name, file: model.file, sha256 },
    ...{ threads, seed, items, inside, alone },
    ...figures,
  }
  writeReport(resultBase(values.out, result.date, name, machine), result, markdown)
})

function taskNamed(name) {
  if (tasks.some((task) => task.name === name)) return name
  throw new Failure(`there is no task ${name}.`, `The tasks: ${tasks.map((task) => task.name).join(', ')}`)
}

function settingNamed(label) {
  if (settings.some((setting) => setting.label === label)) return label
  throw new Failure(
    `there is no setting ${label}.`,
    `They are: ${settings.map((setting) => setting.label).join('; ')}`,
  )
}
