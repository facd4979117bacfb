// The npm tarball that carries upstream: fetched by the ordinary npm client, never installed, checked against the pin.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from './fail.mjs'
import { fileInTarball } from './tar.mjs'

export function integrityOf(bytes) {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`
}

/** The archive of a package, as npm serves it, into a folder. `otherwise`: what to do where npm cannot be reached */
export function packFromNpm(spec, into, otherwise) {
  const args = ['pack', spec, '--ignore-scripts', '--silent'] // into the working directory
  const cli = process.env.npm_execpath
  const [command, rest] = /npm-cli\.js$/.test(cli ?? '') ? [process.execPath, [cli, ...args]] : ['npm', args]
  const shell = command === 'npm' && process.platform === 'win32'
  const run = spawnSync(command, rest, {
    cwd: into,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    shell,
  })
  if (run.status !== 0) {
    throw new Failure(
      `npm could not fetch ${spec}:\n${(run.stderr || String(run.error ?? '')).trim()}`,
      otherwise,
    )
  }
}

const npmPack = (spec, into) =>
  packFromNpm(
    spec,
    into,
    'Name a local copy instead: h2o-prefill build --from PATH, in a checkout npm run vendor -- --from PATH\n' +
      '(a llama.cpp checkout that has the pinned tree, a git bundle, or the .tgz of that package).',
  )

/** The bytes of a tarball that has the pinned integrity. */
export function readTarball(file, integrity) {
  const bytes = readFileSync(file)
  const found = integrityOf(bytes)
  if (found !== integrity) {
    throw new Failure(
      `${file} is not the pinned tarball.\n  pinned: ${integrity}\n  found:  ${found}`,
      'Delete that file and try again. If it happens again, do not use what your registry serves.',
    )
  }
  return bytes
}

/** The git bundle inside the pinned tarball. Fetches the tarball into `cache` when it is not there. */
export function bundleFromNpm(pin, cache, pack = npmPack) {
  const file = join(cache, `${pin.npm.package.replace('@', '').replace('/', '-')}-${pin.npm.version}.tgz`)
  if (!existsSync(file)) {
    mkdirSync(cache, { recursive: true })
    pack(`${pin.npm.package}@${pin.npm.version}`, cache)
    if (!existsSync(file)) throw new Failure(`npm pack wrote no ${file}.`)
  }
  try {
    return bundleInTarball(readTarball(file, pin.npm.integrity), pin)
  } catch (error) {
    rmSync(file, { force: true })
    throw error
  }
}

export function bundleInTarball(tarball, pin) {
  const bundle = fileInTarball(tarball, `package/${pin.npm.bundle}`)
  if (!bundle) throw new Failure(`${pin.npm.package}@${pin.npm.version} holds no ${pin.npm.bundle}.`)
  return bundle
}
