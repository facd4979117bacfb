// Text that the recall model was not trained on and that every checkout has after `npm ci`: the prose of README files
// of packages that package-lock.json pins.

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
const FREE = /^(MIT|ISC|BSD-[23]-Clause)$/

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
