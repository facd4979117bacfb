// pip, as an ordinary user of it: wheels by name and version, unpacked into a folder. No code of a package runs.

import { spawn, spawnSync } from 'node:child_process'
import { Failure } from './fail.mjs'

/** pip is missing, or could not do it: what it printed says why. */
export class PipFailure extends Failure {}

/** The command line of a pip that works. */
export function findPip() {
  for (const python of ['python3', 'python']) {
    const pip = ['-m', 'pip']
    if (spawnSync(python, [...pip, '--version'], { stdio: 'ignore' }).status === 0) return [python, ...pip]
  }
  throw new PipFailure('there is no Python with pip (Debian: apt-get install python3-pip).')
}

/**
 * Unpacks wheels into `target`. pip's own temporary files go to `temp`, so that whoever removes that removes all.
 * @param {string} [from] a folder of wheels, in place of the package index
 * @param {AbortSignal} [signal] ends pip; the promise settles when pip is gone
 */
export function pipUnpack(packages, { target, temp, from, signal, pip = findPip() }) {
  const [command, ...start] = pip
  const source = from === undefined ? [] : ['--no-index', '--find-links', from]
  const flags = [
    '--no-deps',
    '--no-compile',
    '--only-binary=:all:',
    '--no-input',
    '--disable-pip-version-check',
  ]
  const args = [...start, 'install', ...flags, ...source, '--target', target, ...packages]
  const child = spawn(command, args, {
    env: {
      ...process.env,
      TMPDIR: temp,
      PIP_USER: '0',
      PIP_REQUIRE_VIRTUALENV: '0',
      PIP_ROOT_USER_ACTION: 'ignore',
    },
    stdio: ['ignore', 2, 2],
  })
  const end = () => child.kill()
  signal?.addEventListener('abort', end)
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new PipFailure(`${command} could not be started: ${error.message}`)))
    child.on('close', (status) => {
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(new Failure('interrupted'))
      else if (status !== 0) reject(new PipFailure(`pip could not get ${packages.join(', ')}.`))
      else resolve()
    })
  })
}
