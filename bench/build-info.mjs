// Which commit was measured, and how both sides were compiled.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** @param {string} root of the checkout */
export function buildInfo(root) {
  return {
    commit: git(root, ['rev-parse', '--short=12', 'HEAD']),
    uncommitted_changes: git(root, ['status', '--porcelain', '--untracked-files=no']) !== '',
    upstream: JSON.parse(readFileSync(join(root, 'vendor/llama.cpp.json'), 'utf8')).upstream.tag,
    ours: compilerOf(join(root, 'build')),
    stock: compilerOf(join(root, 'build-stock')),
  }
}

function git(root, args) {
  const { stdout, status } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : null
}

/** From the cache of CMake; null where nothing was built. */
function compilerOf(folder) {
  const file = join(folder, 'CMakeCache.txt')
  if (!existsSync(file)) return null
  const cache = readFileSync(file, 'utf8')
  const value = (name) => new RegExp(`^${name}:[A-Z]+=(.*)$`, 'm').exec(cache)?.[1] ?? ''
  const compiler = value('CMAKE_CXX_COMPILER')
  const version = compiler && spawnSync(compiler, ['--version'], { encoding: 'utf8' }).stdout
  const type = value('CMAKE_BUILD_TYPE')
  return {
    compiler: version ? version.split('\n')[0] : compiler,
    flags: [value('CMAKE_CXX_FLAGS'), value(`CMAKE_CXX_FLAGS_${type.toUpperCase()}`)].join(' ').trim(),
    native: value('GGML_NATIVE') === 'ON',
    openmp: value('GGML_OPENMP_ENABLED') === 'ON',
    cuda: value('GGML_CUDA') === 'ON',
  }
}
