// `h2o-prefill compare --json`, whose figures are the report's perplexities and divergences.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Failure } from '../../scripts/lib/fail.mjs'
import { PROJECT_ROOT } from '../../scripts/lib/layout.mjs'
import { argvOf, invocations } from './invocations.mjs'
import { keyOf } from './settings.mjs'

const CLI = join(PROJECT_ROOT, 'bin/h2o-prefill.js')

/**
 * Figures by the key of the setting, at one length of window. The same positions count whatever S is.
 *
 * @param {{ model: string, file: string, length: number, windows: number, skip: number, threads: number }} common
 */
export async function compareSettings(settings, { model, file, length, windows, skip, threads }, say) {
  const rows = []
  for (const call of invocations(settings)) {
    const argv = [
      ...['compare', '--json', '-m', model, '-f', file, '-t', String(threads)],
      ...['-c', String(length), '-n', '256', '--chunks', String(windows), '--skip', String(skip)],
      ...argvOf(call),
    ]
    say(`h2o-prefill ${argv.slice(6).join(' ')}`)
    const found = (await run(argv)).rows
    for (const setting of call.settings) rows.push({ key: keyOf(setting), length, ...pick(found, setting) })
  }
  return rows
}

function pick(rows, { label, schedule, select, S, local, heavy }) {
  const row = rows.find(
    ({ n_ubatch, h2o, ...row }) =>
      row.schedule === schedule &&
      row.select === select &&
      n_ubatch === S &&
      h2o.local === local &&
      (heavy === undefined || h2o.heavy === heavy),
  )
  if (row?.path !== 'h2o') throw new Failure(`compare has no sparse figures of ${label}.`)
  return { prompt: figures(row.prompt), continuation: figures(row.continuation) }
}

function figures({ n, ppl, ppl_dense, ppl_ratio, kld, same_top_percent }) {
  return {
    n,
    ppl: ppl.value,
    ppl_dense: ppl_dense.value,
    ratio: ppl_ratio.value,
    ratio_uncertainty: ppl_ratio.uncertainty,
    kld: kld.mean.value,
    kld_p99: kld.p99,
    same_top_percent: same_top_percent.value,
  }
}

function run(argv) {
  const child = spawn(process.execPath, [CLI, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  return new Promise((resolve, reject) => {
    const text = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr']) {
      child[name].setEncoding('utf8').on('data', (part) => {
        text[name] += part
      })
    }
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(text.stdout))
      else reject(new Failure(`h2o-prefill ${argv.join(' ')} ended with ${code}:\n${text.stderr.trim()}`))
    })
  })
}
