// The parts of the tests: what they name exists, and changes force what they should.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OPTIONAL } from '../../scripts/lib/optional-programs.mjs'
import { CORE, forces, isBelow, OTHERS, PARTS, partOf, UNIT } from '../../scripts/lib/parts.mjs'
import { root } from '../cli/support/spawn.js'
import seconds from '../seconds.json' with { type: 'json' }

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(Boolean)
const testFiles = tracked.filter((path) => path.endsWith('.test.ts'))

test('files and folders that are named exist', () => {
  const named = [...PARTS.flatMap(({ tests }) => tests), ...UNIT, ...Object.keys(seconds)]
  const missing = named.filter((entry) => !testFiles.some((path) => isBelow(path, entry)))
  expect(missing).toEqual([])
})

test('files that share a process are of core', () => {
  expect(UNIT.filter((path) => partOf(path) !== CORE)).toEqual([])
})

test('tags are names of other parts', () => {
  const others = OTHERS.map(({ name }) => name)
  let n = 0
  for (const path of testFiles) {
    for (const [, list] of read(path).matchAll(/\btags: \[([^\]]*)\]/g)) {
      for (const [, tag] of (list as string).matchAll(/'(\w+)'/g)) {
        expect(others, path).toContain(tag)
        n++
      }
    }
  }
  expect(n).toBeGreaterThan(0)
})

test('what forces a part exists', () => {
  for (const part of OTHERS) {
    expect(part.forcedBy.length, part.name).toBeGreaterThan(0)
    const none = part.forcedBy.filter((beginning) => !tracked.some((path) => path.startsWith(beginning)))
    expect(none, part.name).toEqual([])
  }
})

test('programs that a part would like have a line for where they are missing', () => {
  for (const { wants } of PARTS) expect(Object.keys(OPTIONAL)).toEqual(expect.arrayContaining(wants))
})

test.each([
  ['src/native/h2o/ops/cpu/h2o-attn-kernel.cpp', ['kernels', 'quality', 'ways']],
  ['src/native/h2o/ops/cuda/h2o-attn.cu', ['cuda', 'ways']],
  ['src/native/h2o/method/h2o-policy-query.cpp', ['stock', 'quality', 'ways']],
  ['src/native/h2o/memory/h2o-state.cpp', ['stock', 'hostile', 'ways']],
  ['src/native/limits/limit-regex.cpp', ['hostile']],
  ['src/native/addon/text/grammar.cpp', ['hostile']],
  ['src/native/addon/model-check/rules-rope.cpp', ['stock', 'hostile']],
  ['src/ts/server/server.ts', ['hostile']],
  ['patches/method/graph.patch', ['stock', 'ways']],
  ['scripts/prebuilds.mjs', ['package']],
  ['src/ts/generate.ts', []],
  ['docs/library.md', []],
  ['bench/gpu/README.md', []],
])('%s forces %j', (path, parts) => {
  expect(OTHERS.filter((part) => forces(path, part)).map(({ name }) => name)).toEqual(parts)
})

test('a release runs all of them', () => {
  const matrix = /part: \[(.*)\]/.exec(read('.github/workflows/release.yml'))?.[1]?.split(', ')
  expect(matrix).toEqual(PARTS.map(({ name }) => name))
})

test('CONTRIBUTING.md lists them, with their minutes', () => {
  const rows = read('CONTRIBUTING.md')
  for (const { name, minutes } of OTHERS)
    expect(rows).toMatch(new RegExp(`^\\| \`${name}\` \\| .* \\| ${minutes} \\|$`, 'm'))
})
