#!/usr/bin/env node
// npm run quality: what H2O costs in answers and predictions, as a dated report. `--help` lists the options.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine } from '../../dist/cli/machine.js'
import * as api from '../../dist/index.js'
import { Failure, main } from '../../scripts/lib/fail.mjs'
import { PROJECT_ROOT } from '../../scripts/lib/layout.mjs'
import { buildInfo } from '../build-info.mjs'
import * as chart from '../chart.mjs'
import { redraw, resultBase, writeResult } from '../result-files.mjs'
import { sets } from './cases.mjs'
import { measure } from './measure.mjs'
import { charts } from './plots.mjs'
import { markdown } from './report.mjs'

const MODEL = join(PROJECT_ROOT, 'model/recall-q8_0.gguf')

const HELP = `usage: npm run quality -- [options]

  -m FILE         a model that model/train.py made (model/recall-q8_0.gguf)
  --set NAME      ${Object.entries(sets)
    .map(([name, { title }]) => `${name}: ${title}`)
    .join('\n                  ')}
  -t N            threads of perplexities, and contexts of one thread each that are asked at once (all cores)
  --seed N        of the items (1); another one asks about other texts and facts
  --skip-windows N  windows of the text to leave out, so that perplexities are of what follows them (0)
  --out FOLDER    where the result goes (bench/results)
  --redraw FILE   make the report and the plots of a result again

Needs npm run build, and Python 3.9 or later without any packages.
`

await main(async () => {
  const { values } = parseArgs({
    options: {
      model: { type: 'string', short: 'm', default: MODEL },
      set: { type: 'string', default: 'full' },
      threads: { type: 'string', short: 't', default: String(availableParallelism()) },
      seed: { type: 'string', default: '1' },
      'skip-windows': { type: 'string', default: '0' },
      out: { type: 'string', default: join(PROJECT_ROOT, 'bench/results') },
      redraw: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  if (values.redraw) return redraw(values.redraw, { svg, markdown })
  if (!Object.hasOwn(sets, values.set))
    throw new Failure(`there is no set ${values.set}.`, `The sets: ${Object.keys(sets).join(', ')}`)
  if (!existsSync(values.model))
    throw new Failure(
      `there is no ${values.model}.`,
      'model/README.md says how one is made; -m names another.',
    )

  const threads = count('-t', values.threads, 1)
  const seed = count('--seed', values.seed, 0)
  const skipWindows = count('--skip-windows', values['skip-windows'], 0)
  const set = sets[values.set]
  const machine = describeMachine()
  const start = performance.now()
  const options = { model: values.model, threads, lanes: threads, seed, skipWindows }
  const figures = await measure(api, set, options, (line) => console.error(line))
  const result = {
    date: new Date().toISOString().slice(0, 10),
    set: values.set,
    title: set.title,
    machine,
    build: buildInfo(PROJECT_ROOT),
    model: { file: basename(values.model), sha256: sha256(values.model) },
    threads,
    seed,
    total_seconds: Math.round((performance.now() - start) / 1000),
    ...figures,
  }
  const name = [
    'quality',
    ...(values.set === 'full' ? [] : [values.set]),
    ...(seed === 1 ? [] : [`seed-${seed}`]),
    ...(skipWindows === 0 ? [] : [`from-window-${skipWindows}`]),
  ].join('-')
  writeResult(resultBase(values.out, result.date, name, machine), result, { svg, markdown })
})

function count(flag, text, least) {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least)
    throw new Failure(`${flag} ${text} is no whole number from ${least} on.`)
  return value
}

function svg(result) {
  return chart.svg('What H2O costs', charts(result))
}

function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
