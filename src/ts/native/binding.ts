/**
 * Finds and loads h2o_llama.node: the only `require` of a binary.
 *
 * H2O_LLAMA_BINARY names the file to load. Without it, node-gyp-build looks in build/Release (made by `h2o-prefill build`
 * or, in a checkout, `npm run build`) and then in prebuilds/. It happens at first use, so that what needs no binary
 * (--help) works without one.
 */

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { H2oError } from '../errors.js'
import type { NativeBinding } from './surface.js'

const require = createRequire(import.meta.url)

let binding: NativeBinding | undefined

/** Throws ERR_H2O_NO_BINARY, with what was tried, where there is none that loads. */
export function native(): NativeBinding {
  binding ??= load()
  return binding
}

/** The file that native() loads. Throws where there is none. */
export function binaryPath(): string {
  const given = process.env.H2O_LLAMA_BINARY
  return given ? resolve(given) : require('node-gyp-build').path(packageRoot())
}

function load(): NativeBinding {
  const given = process.env.H2O_LLAMA_BINARY
  const root = packageRoot()
  const tried = given ? [resolve(given)] : [join(root, 'build', 'Release'), join(root, 'prebuilds')]
  try {
    return require(binaryPath())
  } catch (cause) {
    throw new H2oError('ERR_H2O_NO_BINARY', 'there is no native binary that loads', {
      details: { tried, platform: `${process.platform}-${process.arch}`, reason: String(cause) },
      hint: given
        ? 'H2O_LLAMA_BINARY must name an h2o_llama.node for this platform'
        : 'build it: npx h2o-prefill build (--cuda for an NVIDIA GPU, --help for more)',
      cause,
    })
  }
}

/** The folder of our package.json: two levels above dist/native, three above src/ts/native. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  for (;;) {
    const file = join(folder, 'package.json')
    if (existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).name === 'h2o-llama') return folder
    const parent = dirname(folder)
    if (parent === folder) return folder
    folder = parent
  }
}
