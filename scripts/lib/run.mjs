// Child processes of the build scripts: output goes to the terminal, a failure ends the script with its status.

import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Failure } from './fail.mjs'
import { PROJECT_ROOT } from './layout.mjs'

export function run(command, args, { cwd = PROJECT_ROOT, env = {} } = {}) {
  const child = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (child.error) throw new Failure(`${command} could not be started: ${child.error.message}`)
  if (child.status !== 0) {
    throw new Failure(
      `${[command, ...args].join(' ')} ended with ${child.signal ?? `status ${child.status}`}.`,
    )
  }
}

/** The folder of an npm package that this one depends on. */
export function homeOfPackage(name) {
  try {
    return dirname(createRequire(join(PROJECT_ROOT, 'package.json')).resolve(`${name}/package.json`))
  } catch {
    throw new Failure(
      `the npm package ${name} is not installed.`,
      'In a checkout: npm ci. Else install h2o-llama again.',
    )
  }
}

/** Runs a program of such a package with this Node. */
export function runPackage(name, bin, args, options) {
  run(process.execPath, [join(homeOfPackage(name), bin), ...args], options)
}

export function has(command) {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
}
