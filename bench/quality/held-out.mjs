// Text that the recall model was not trained on and that every build has: the prose of README files, of packages that
// package-lock.json pins and of the vendored llama.cpp.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../scripts/lib/fail.mjs'
import { PROJECT_ROOT } from '../../scripts/lib/layout.mjs'
import { python } from './python.mjs'

/** MIT, ISC or BSD, and long. */
const PACKAGES = [
  'picomatch/README.md',
  'source-map-js/README.md',
  'semver/README.md',
  'debug/README.md',
  'cmake-js/README.md',
  'tinybench/README.md',
  'magic-string/README.md',
  'es-module-lexer/README.md',
  'yargs-parser/README.md',
  'fs-extra/README.md',
  'commander/Readme.md',
]
/** Longer than the model's context each: MIT (llama.cpp) and BlueOak-1.0.0. */
const LONG = [
  'vendor/llama.cpp/tools/server/README.md',
  'vendor/llama.cpp/tools/completion/README.md',
  'node_modules/tar/README.md',
]
const FREE = /^(MIT|ISC|BSD-[23]-Clause)$/

/** @returns {{ name: string, text: string }[]} in each of which something far back can say what comes next */
export function longTexts() {
  return LONG.map((path) => ({ name: path, text: python('clean.py', join(PROJECT_ROOT, path)) }))
}

/** @returns {{ text: string, sha256: string, packages: string[] }} */
export function heldOut() {
  const modules = join(PROJECT_ROOT, 'node_modules')
  const packages = PACKAGES.map((path) => {
    const name = path.split('/')[0]
    const { version, license } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'))
    if (!FREE.test(license)) throw new Failure(`the licence of ${name} ${version} is ${license}.`)
    return `${name} ${version} (${license})`
  })
  const text = python('clean.py', ...PACKAGES.map((path) => join(modules, path)))
  return { text, sha256: createHash('sha256').update(text).digest('hex'), packages }
}
