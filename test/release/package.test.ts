// What npm would do with the package beside unpacking it, and whether the build finds in it what it reads.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../cli/support/spawn.js'

const build = join(root, 'build')
// ninja made this build, and is one that lists what goes into it: 1.11 and later
const hasNinja = spawnSync('ninja', ['-t', 'inputs', 'h2o_llama'], { cwd: build }).status === 0

const list = ['pack', '--dry-run', '--json', '--ignore-scripts']
const [{ files }] = JSON.parse(execFileSync('npm', list, { cwd: root, encoding: 'utf8' })) as [
  { files: { path: string }[] },
]
const packed = files.map(({ path }) => path)

/** What ninja says of the build that made the addon; lines of it. */
const ninja = (...args: string[]) =>
  execFileSync('ninja', ['-t', ...args], { cwd: build, encoding: 'utf8', maxBuffer: 1 << 28 }).split('\n')

/** Sources of the addon and the headers that they include, and what CMake read to say so. */
function readByBuild(): string[] {
  const inputs = ninja('inputs', 'h2o_llama').map((line) => line.trim())
  const isInput = new Set(inputs)
  const headers: string[] = []
  let isOfAddon = false
  for (const line of ninja('deps')) {
    const object = /^(\S.*): #deps/.exec(line)?.[1]
    if (object) isOfAddon = isInput.has(object)
    else if (isOfAddon && line.startsWith('    ')) headers.push(line.trim())
  }
  const ofCmake = ninja('query', 'build.ninja').map((line) => line.trim().replace(/^\| /, ''))
  return [...inputs, ...headers, ...ofCmake]
}

test('npm finds nothing to compile in it', () => {
  expect(packed).toContain('binary.cjs')
  // `npm ci` runs node-gyp where there is one, whatever `gypfile` says: a lockfile does not keep it
  expect(packed).not.toContain('binding.gyp')
})

test.skipIf(!hasNinja)('each file of ours that the build of the addon reads is in it', () => {
  const ours = readByBuild()
    .map((path) => resolve(build, path))
    .filter((path) => existsSync(path))
    .map((path) => relative(root, realpathSync(path)))
    .filter((path) => /^(CMakeLists\.txt$|cmake\/|src\/|examples\/|bench\/|test\/|scripts\/)/.test(path))
    // with H2O_BUILD_TESTS and in a checkout alone
    .filter((path) => !/^(test|bench)\/.*(CMakeLists\.txt|\.cmake)$/.test(path))
  const unique = [...new Set(ours)]
  expect(unique.length).toBeGreaterThan(200)
  expect(unique.filter((path) => !packed.includes(path))).toEqual([])
})
