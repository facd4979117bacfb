import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { vendorStock } from '../../scripts/lib/vendor.mjs'
import { CMAKE, emptyProject, GRAPH, git, patchedProject } from './project.js'

const mtime = (file: string) => statSync(file).mtimeMs

describe('making the tree', () => {
  test('an empty series gives pristine upstream, the subset only, and a link to our sources', () => {
    const p = emptyProject()
    expect(p.vendor()).toMatchObject({ done: 'created', files: [] })
    expect(p.tree(GRAPH)).toContain('graph 30')
    expect(existsSync(join(p.paths.tree, 'docs'))).toBe(false)
    expect(readdirSync(join(p.paths.tree, 'tools/ui'))).toEqual(['CMakeLists.txt'])
    expect(p.tree('h2o/h2o.h')).toBe('// our header\n')
    if (process.platform !== 'win32') {
      expect(lstatSync(join(p.paths.tree, 'h2o')).isSymbolicLink()).toBe(true)
      expect(readlinkSync(join(p.paths.tree, 'h2o'))).toBe('../../src/native/h2o')
      expect(readlinkSync(join(p.paths.tree, 'limits'))).toBe('../../src/native/limits')
    }
  })

  test('patches are applied in series order', () => {
    const p = patchedProject()
    expect(p.tree(GRAPH)).toContain('graph 10\n// h2o: graph-ask\nask_h2o();\ngraph 11')
    expect(p.tree(CMAKE)).toContain('# cmake 20\n# h2o: cmake-sources\nadd(h2o)\n# cmake 21')
  })

  test('the baseline is one commit with the pinned subset, the same on every machine', () => {
    const [a, b] = [patchedProject(), patchedProject()]
    expect(git(a.paths.tree, 'rev-list', '--count', 'HEAD')).toBe('1')
    expect(git(a.paths.tree, 'rev-parse', 'HEAD')).toBe(git(b.paths.tree, 'rev-parse', 'HEAD'))
    expect(git(a.paths.tree, 'status', '--short')).toBe('M src/CMakeLists.txt\n M src/graph.cpp')
  })

  test('the stock tree is the same subset without our patches and our sources', () => {
    const p = patchedProject()
    expect(vendorStock(p.paths, { from: p.upstream })).toMatchObject({ done: 'created' })
    expect(vendorStock(p.paths, { from: p.upstream })).toMatchObject({ done: 'nothing' })
    expect(git(p.paths.stockTree, 'status', '--short')).toBe('')
    expect(existsSync(join(p.paths.stockTree, 'h2o'))).toBe(false)
  })

  test('a patch for both trees is in the stock tree, and makes it anew when it comes', () => {
    const p = patchedProject()
    vendorStock(p.paths, { from: p.upstream })
    p.write(
      'patches/limits/cmake.patch',
      p.read('patches/limits/cmake.patch').replace('\n', '\nTrees: patched, stock\n'),
    )
    expect(vendorStock(p.paths, { from: p.upstream })).toMatchObject({ done: 'created', files: [CMAKE] })
    expect(vendorStock(p.paths, { from: p.upstream })).toMatchObject({ done: 'nothing' })
    expect(git(p.paths.stockTree, 'status', '--short')).toBe('M src/CMakeLists.txt')
  })

  test('a folder that somebody else made is left alone', () => {
    const p = emptyProject()
    p.write('vendor/llama.cpp/mine.txt', 'mine')
    expect(() => p.vendor()).toThrow(/did not make it/)
    expect(p.read('vendor/llama.cpp/mine.txt')).toBe('mine')
    p.vendor({ force: true })
    const aside = readdirSync(join(p.root, 'vendor')).find((name) => name.startsWith('llama.cpp-replaced-'))
    expect(p.read(`vendor/${aside}/mine.txt`)).toBe('mine')
  })
})

describe('a second run', () => {
  test('does nothing, quickly', () => {
    const p = patchedProject()
    const before = mtime(join(p.paths.tree, GRAPH))
    const start = performance.now()
    expect(p.vendor()).toEqual({ done: 'nothing', files: [] })
    expect(performance.now() - start).toBeLessThan(1000)
    expect(mtime(join(p.paths.tree, GRAPH))).toBe(before)
  })

  test('does nothing while the tree holds edits, as long as the patches are the same', () => {
    const p = patchedProject()
    p.edit(GRAPH, 'graph 3\n', 'graph three\n')
    expect(p.vendor()).toMatchObject({ done: 'nothing' })
    expect(p.tree(GRAPH)).toContain('graph three')
  })

  test('after a change of one patch writes only the files whose content changes', () => {
    const p = patchedProject()
    const [graph, cmake, header] = [GRAPH, CMAKE, 'include/llama.h'].map((path) => join(p.paths.tree, path))
    const before = [cmake, header].map((file) => mtime(file as string))
    p.write(
      'patches/method/graph.patch',
      p.read('patches/method/graph.patch').replace('+ask_h2o();', '+ask_h2o_twice();'),
    )
    expect(p.vendor()).toEqual({ done: 'updated', files: [GRAPH] })
    expect(p.tree(GRAPH)).toContain('ask_h2o_twice();')
    expect(mtime(graph as string)).toBeGreaterThan(0)
    expect([cmake, header].map((file) => mtime(file as string))).toEqual(before)
  })

  test('takes back a patch that left the series', () => {
    const p = patchedProject()
    p.write('patches/series', 'method/graph.patch\n')
    expect(p.vendor()).toEqual({ done: 'updated', files: [CMAKE] })
    expect(p.tree(CMAKE)).not.toContain('h2o')
  })

  test('a change of a header alone keeps edits in the tree', () => {
    const p = patchedProject()
    p.edit(GRAPH, 'graph 3\n', 'graph three\n')
    p.write(
      'patches/limits/cmake.patch',
      p.read('patches/limits/cmake.patch').replace('must know', 'has to know'),
    )
    expect(p.vendor()).toEqual({ done: 'updated', files: [] })
    expect(p.tree(GRAPH)).toContain('graph three')
  })
})

describe('edits that are in no patch', () => {
  test('are refused when the patches changed, and nothing is touched', () => {
    const p = patchedProject()
    p.edit(CMAKE, '# cmake 3\n', '# cmake three\n')
    p.write(
      'patches/method/graph.patch',
      p.read('patches/method/graph.patch').replace('+ask_h2o();', '+ask_h2o_twice();'),
    )
    expect(() => p.vendor()).toThrow(
      /edits that are in no patch:\n {2}src\/CMakeLists.txt[\s\S]*patches:export[\s\S]*--force/,
    )
    expect(p.tree(CMAKE)).toContain('# cmake three')
    expect(p.tree(GRAPH)).toContain('ask_h2o();')
  })

  test('are dropped by --force, which leaves a copy of them', () => {
    const p = patchedProject()
    p.edit(CMAKE, '# cmake 3\n', '# cmake three\n')
    p.write('vendor/llama.cpp/src/new.cpp', 'new\n')
    p.vendor({ force: true })
    expect(p.tree(CMAKE)).toContain('# cmake 3\n')
    expect(existsSync(join(p.paths.tree, 'src/new.cpp'))).toBe(false)
    const kept = readdirSync(p.paths.cache).find((name) => name.startsWith('dropped-'))
    expect(p.read(`vendor/.cache/${kept}`)).toContain('+# cmake three')
  })

  test('our own sources and build folders are no edits', () => {
    const p = patchedProject()
    p.write('src/native/h2o/h2o.h', '// another\n')
    p.write('vendor/llama.cpp/build/CMakeCache.txt', 'cache')
    p.write('patches/series', 'method/graph.patch\n')
    expect(p.vendor()).toEqual({ done: 'updated', files: [CMAKE] })
    expect(p.tree('h2o/h2o.h')).toBe('// another\n')
  })
})

describe('the surroundings', () => {
  const saved = { ...process.env }
  afterEach(() => {
    process.env = { ...saved }
  })

  test('an outer repository, git variables, hooks and settings of the user change nothing', () => {
    const p = emptyProject()
    git(p.root, 'init', '-q')
    const hooks = join(p.root, 'hooks')
    mkdirSync(hooks)
    for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change']) {
      writeFileSync(join(hooks, hook), `#!/bin/sh\ntouch '${p.root}/hook-ran'\nexit 1\n`, { mode: 0o755 })
    }
    p.write('gitconfig', `[core]\n\thooksPath = ${hooks}\n\tautocrlf = true\n[commit]\n\tgpgSign = true\n`)
    Object.assign(process.env, {
      GIT_CONFIG_GLOBAL: join(p.root, 'gitconfig'),
      GIT_DIR: join(p.root, '.git'),
      GIT_WORK_TREE: p.root,
      GIT_INDEX_FILE: join(p.root, '.git/index'),
      HOME: join(p.root, 'nobody'),
    })
    expect(p.vendor()).toMatchObject({ done: 'created' })
    expect(p.tree(GRAPH)).toContain('graph 30\n')
    expect(p.tree(GRAPH)).not.toContain('\r')
    expect(existsSync(join(p.root, 'hook-ran'))).toBe(false)
    expect(existsSync(join(p.root, '.git/index'))).toBe(false)
  })
})
