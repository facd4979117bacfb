#!/usr/bin/env node
// npm run bench: runs a set of cases and writes a dated result with its report and plot. `--help` lists the options.

import { spawn } from 'node:child_process'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Failure, main } from '../scripts/lib/fail.mjs'
import { PROJECT_ROOT } from '../scripts/lib/layout.mjs'
import { buildInfo } from './build-info.mjs'
import { sets } from './cases.mjs'
import { plot } from './plot.mjs'
import { markdown } from './report.mjs'
import { redraw, resultBase, writeResult } from './result-files.mjs'

const HELP = `usage: npm run bench -- [--quick] [options] [-- flags for every h2o-prefill bench]

  --quick         the set 'quick' instead of 'full'
  --set NAME      ${Object.entries(sets)
    .map(([name, { title }]) => `${name}: ${title}`)
    .join('\n                  ')}
  --out FOLDER    where the result goes (bench/results)
  --redraw FILE   make the report and the plot of a result again

Needs npm run build, npm run bench:stock, and for profiles and the memory figure npm run bench:native.
The machine should do nothing else.
`

await main(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      set: { type: 'string' },
      out: { type: 'string', default: join(PROJECT_ROOT, 'bench/results') },
      redraw: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  if (values.redraw) return redraw(values.redraw, { svg, markdown })

  const name = values.set ?? (values.quick ? 'quick' : 'full')
  if (!Object.hasOwn(sets, name))
    throw new Failure(`there is no set ${name}.`, `The sets: ${Object.keys(sets).join(', ')}`)
  await measure(name, values.out, positionals)
})

async function measure(name, folder, flags) {
  const { title, runs } = sets[name]
  const date = new Date().toISOString().slice(0, 10)
  const result = {
    date,
    set: name,
    title,
    load: loadavg()[0],
    machine: null,
    build: buildInfo(PROJECT_ROOT),
    runs: [],
  }
  for (const run of runs) {
    const argv = [...run.argv.split(' '), ...flags]
    console.error(`h2o-prefill bench ${argv.join(' ')}`)
    const { rows, ...heading } = await benchJson(argv)
    result.machine ??= heading.machine
    result.runs.push({ ...run, argv: argv.join(' '), heading, rows })
    // after every run, so that an interruption keeps what there is
    writeResult(resultBase(folder, date, name, result.machine), result, { svg, markdown })
  }
}

function svg(result) {
  const rows = result.runs.filter((run) => run.name === 'lengths').flatMap((run) => run.rows)
  const { cpu, cores } = result.machine
  const text = {
    title: 'Time to the first token over prompt length',
    subtitle: `${result.runs[0].heading.model}; ${cores} cores of ${cpu}; ${result.date}`,
  }
  return plot(rows, text)
}

/** What `h2o-prefill bench -o json` prints; its exit code is 1 if some contender failed, and the rest still counts. */
function benchJson(argv) {
  const cli = join(PROJECT_ROOT, 'bin/h2o-prefill.js')
  const child = spawn(process.execPath, [cli, 'bench', ...argv, '-o', 'json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (part) => {
      out += part
    })
    // Ctrl-C reaches the whole group; a kill of this process alone must not leave the bench behind
    const interrupt = () => child.kill('SIGINT')
    process.once('SIGTERM', interrupt)
    child.on('error', reject)
    child.on('close', (code) => {
      process.removeListener('SIGTERM', interrupt)
      if (out.trim() === '') reject(new Failure(`h2o-prefill bench ended with ${code} and no result.`))
      else resolve(JSON.parse(out))
    })
  })
}
