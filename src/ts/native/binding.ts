/**
 * Finds and loads h2o_llama.node.
 *
 * H2O_LLAMA_BINARY names the file to load. Without it, node-gyp-build looks in build/Release (made by `h2o-prefill build`
 * or, in a checkout, `npm run build`) and then in prebuilds/. It happens at first use, so that what needs no binary
 * (--help) works without one.
 *
 * A bundle that this file became a part of finds the package in node_modules, as any require from there would.
 */

import module from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { H2oError } from '../errors.js'
import type { NativeBinding } from './surface.js'

// In a bundle of CommonJS there is no import.meta, and in a module no __filename; `node -e` has one that is no file.
const here = typeof __filename === 'string' && isAbsolute(__filename) ? __filename : import.meta.url

// webpack would follow a createRequire that is imported by its name, and the binary lies where the package does
const requireHere = module.createRequire(here)

/** binary.cjs of the package: by its own name, which leads there from src/, from dist/ and from a bundle. */
const binary = (): { root: string; path(): string; load(): NativeBinding } => requireHere('h2o-llama/binary')

let binding: NativeBinding | undefined

/** Throws ERR_H2O_NO_BINARY, with what was tried, where there is none that loads; ERR_H2O_CONTEXT_MEMORY for want of memory. */
export function native(): NativeBinding {
  binding ??= load()
  return binding
}

/** The file that native() loads. Throws where there is none. */
export function binaryPath(): string {
  const given = process.env.H2O_LLAMA_BINARY
  return given ? resolve(given) : binary().path()
}

function load(): NativeBinding {
  const given = process.env.H2O_LLAMA_BINARY
  try {
    return given ? loadGiven(given) : binary().load()
  } catch (cause) {
    if (/failed to map segment|cannot allocate memory/i.test(String(cause)))
      throw new H2oError('ERR_H2O_CONTEXT_MEMORY', 'there is not enough memory for the native binary', {
        details: { reason: String(cause) },
        hint: 'raise the limit: ulimit -v, or the memory of a container',
        cause,
      })
    throw new H2oError('ERR_H2O_NO_BINARY', 'there is no native binary that loads', {
      details: {
        tried: tried(given),
        platform: `${process.platform}-${process.arch}`,
        reason: String(cause),
      },
      hint: hint(given, cause),
      cause,
    })
  }
}

function loadGiven(given: string): NativeBinding {
  const loaded = requireHere(resolve(given)) as NativeBinding
  if (typeof loaded.NativeModel !== 'function') throw new Error('the file is no h2o_llama.node')
  return loaded
}

function tried(given: string | undefined): string[] {
  if (given) return [resolve(given)]
  const root = rootOrNone()
  return root === undefined ? [] : [join(root, 'build', 'Release'), join(root, 'prebuilds')]
}

function hint(given: string | undefined, cause: unknown): string {
  if ((cause as NodeJS.ErrnoException).code === 'ERR_DLOPEN_DISABLED')
    return "Node's permission model keeps native code out: --allow-addons"
  if (given) return 'H2O_LLAMA_BINARY must name an h2o_llama.node for this platform'
  if (rootOrNone() === undefined)
    return 'a bundle needs the package h2o-llama in a node_modules above it, or H2O_LLAMA_BINARY: docs/library.md'
  return 'build it: npx h2o-prefill build (--cuda for an NVIDIA GPU, --help for more)'
}

function rootOrNone(): string | undefined {
  try {
    return packageRoot()
  } catch {
    return undefined
  }
}

/** The folder of our package.json. Throws in a bundle that has none beside it. */
export function packageRoot(): string {
  return binary().root
}
