import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CMAKE, GRAPH, patchedProject } from './project.js'

/** Replaces text in a patch of a fresh project, then vendors again. */
function withPatch(name: string, from: string | RegExp, to: string) {
  const p = patchedProject()
  const before = p.read(`patches/${name}`)
  const after = before.replace(from, to)
  if (before === after) throw new Error(`${name} has no ${from}`)
  p.write(`patches/${name}`, after)
  return p
}

test('an offset is refused, with the hunk, the patch and what to do', () => {
  const p = withPatch('limits/cmake.patch', /^@@ -18,6 \+18,8 @@.*$/m, '@@ -15,6 +15,8 @@')
  expect(() => p.vendor()).toThrow(
    /patches\/limits\/cmake.patch does not apply where it says:[\s\S]*Hunk #1[\s\S]*offset 3 lines/,
  )
  expect(() => p.vendor()).toThrow(
    /Touched: src\/CMakeLists.txt. Earlier in the series: method\/graph.patch[\s\S]*patches:export/,
  )
})

test('context that is not there is refused', () => {
  const p = withPatch('method/graph.patch', '\n graph 9\n', '\n graph nine\n')
  expect(() => p.vendor()).toThrow(
    /patches\/method\/graph.patch does not apply:[\s\S]*patch failed: src\/graph.cpp:8/,
  )
})

test('a failing series touches nothing, and a patch before the failing one is not half applied', () => {
  const p = withPatch('limits/cmake.patch', '\n # cmake 19\n', '\n # cmake nineteen\n')
  p.write(
    'patches/method/graph.patch',
    p.read('patches/method/graph.patch').replace('+ask_h2o();', '+ask_h2o_twice();'),
  )
  expect(() => p.vendor()).toThrow(/cmake.patch does not apply/)
  expect(p.tree(GRAPH)).toContain('ask_h2o();')
  expect(p.tree(CMAKE)).toContain('add(h2o)')
})

test('a first run with a failing patch leaves no tree behind', () => {
  const p = withPatch('method/graph.patch', '\n graph 9\n', '\n graph nine\n')
  p.paths.tree = `${p.paths.tree}-2`
  expect(() => p.vendor()).toThrow(/does not apply/)
  expect(existsSync(p.paths.tree)).toBe(false)
})

test('a patch that the series lists but nobody wrote is an error', () => {
  const p = patchedProject()
  p.write('patches/series', 'method/graph.patch\n# a comment\nmethod/other.patch # here too\n')
  expect(() => p.vendor()).toThrow(/lists method\/other.patch/)
})
