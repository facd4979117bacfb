// What a native build needs from the machine, and what cmake is told in every build of ours.

import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Failure } from './fail.mjs'
import { PROJECT_ROOT } from './layout.mjs'
import { has } from './run.mjs'

const NEEDED = [
  { what: 'CMake', commands: ['cmake'], debian: 'cmake' },
  { what: 'git', commands: ['git'], debian: 'git' },
]
const NEEDED_POSIX = [
  { what: 'a C++ compiler', commands: [process.env.CXX, 'c++', 'g++', 'clang++'], debian: 'g++' },
  { what: 'make or ninja', commands: ['ninja', 'make'], debian: 'make' },
]

/** Names everything that is missing at once. Visual Studio's own tools are found by CMake. */
export function requireToolchain() {
  const needed = process.platform === 'win32' ? NEEDED : [...NEEDED, ...NEEDED_POSIX]
  const missing = needed.filter(({ commands }) => !commands.filter(Boolean).some(has))
  if (missing.length === 0) return
  throw new Failure(
    `the native build needs ${missing.map(({ what }) => what).join(', ')}, which this machine does not have.`,
    `Debian, Ubuntu, Jetson: sudo apt-get install ${missing.map(({ debian }) => debian).join(' ')}`,
  )
}

/**
 * For cmake, where it is called without cmake-js: ninja where there is one, unless the folder has its generator
 * already.
 */
export function generator(folder) {
  const isFresh = !existsSync(join(folder, 'CMakeCache.txt'))
  return isFresh && process.platform !== 'win32' && has('ninja') ? ['-G', 'Ninja'] : []
}

export function jobs() {
  return process.env.CMAKE_BUILD_PARALLEL_LEVEL ?? String(availableParallelism())
}

/** For ccache: paths below the project count as relative, so another clone of it finds the same objects. */
export function compilerEnv() {
  return { CCACHE_BASEDIR: PROJECT_ROOT, CCACHE_NOHASHDIR: '1', ...process.env }
}
