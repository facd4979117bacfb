import { expect, test } from 'vitest'
import { checkPatches } from '../../scripts/lib/check.mjs'
import { exportPatches } from '../../scripts/lib/export.mjs'
import { CMAKE, GRAPH, patchedProject } from './project.js'

test('with no edits it writes nothing: the patches are what the tree holds, byte for byte', () => {
  const p = patchedProject()
  expect(exportPatches(p.paths)).toEqual({ written: [], created: [], empty: [] })
})

test('an edited header alone stays as it is', () => {
  const p = patchedProject()
  const patch = p.read('patches/method/graph.patch').replace('Subject: ', 'Subject: why ')
  p.write('patches/method/graph.patch', patch)
  expect(exportPatches(p.paths).written).toEqual([])
  expect(p.read('patches/method/graph.patch')).toBe(patch)
})

test('round trip: an edit goes into the patch that owns the file, the header stays byte for byte', () => {
  const p = patchedProject()
  const header = 'Subject: graph: ask h2o\nNote: café  \n\n  The graph must ask.\n\n---\n\n'
  p.write(
    'patches/method/graph.patch',
    p.read('patches/method/graph.patch').replace(/^[\s\S]*?(?=diff --git)/, header),
  )
  const cmake = p.read('patches/limits/cmake.patch')
  p.edit(GRAPH, 'ask_h2o();', 'ask_h2o(il);')
  expect(exportPatches(p.paths)).toMatchObject({ written: ['method/graph.patch'] })

  const patch = p.read('patches/method/graph.patch')
  expect(patch.startsWith(`${header}diff --git a/${GRAPH} b/${GRAPH}\nindex `)).toBe(true)
  expect(patch).toMatch(/^index [0-9a-f]{40}\.\.[0-9a-f]{40} 100644$/m)
  expect(patch).toContain('+ask_h2o(il);')
  expect(p.read('patches/limits/cmake.patch')).toBe(cmake)
  expect(checkPatches(p.paths).complaints).toEqual([])

  p.paths.tree = `${p.paths.tree}-2`
  p.vendor()
  expect(p.tree(GRAPH)).toContain('ask_h2o(il);')
  expect(exportPatches(p.paths).written).toEqual([])
})

test('a changed file that no patch owns is an error that says how to add it', () => {
  const p = patchedProject()
  p.edit('include/llama.h', '// llama', '// llama with h2o')
  expect(() => exportPatches(p.paths)).toThrow(
    /include\/llama.h[\s\S]*--add include\/llama.h=ROOM\/NAME.patch/,
  )
})

test('--add gives a file to a patch that is there', () => {
  const p = patchedProject()
  p.edit('include/llama.h', '// llama\n', '// llama\n// h2o: api\n')
  const add = [{ path: 'include/llama.h', name: 'method/graph.patch' }]
  expect(exportPatches(p.paths, { add })).toMatchObject({ written: ['method/graph.patch'], created: [] })
  expect(p.read('patches/method/graph.patch')).toMatch(/^\+\/\/ h2o: api$/m)
  expect(p.vendor()).toMatchObject({ done: 'nothing' })
})

test('--add makes a new patch, last in the series, with a header to fill in', () => {
  const p = patchedProject()
  p.write('vendor/llama.cpp/src/new.h', '// h2o: new\n')
  const add = [{ path: 'src/new.h', name: 'method/new.patch' }]
  expect(exportPatches(p.paths, { add })).toMatchObject({
    written: ['method/new.patch'],
    created: ['method/new.patch'],
  })
  expect(p.read('patches/series')).toBe('method/graph.patch\nlimits/cmake.patch\nmethod/new.patch\n')
  expect(p.read('patches/method/new.patch')).toMatch(
    /^Subject: new: TODO[\s\S]*\ndiff --git a\/src\/new.h b\/src\/new.h\nnew file/,
  )
})

test('--add keeps the header of a patch that waits outside the series', () => {
  const p = patchedProject()
  const header = p.read('patches/limits/cmake.patch').replace(/diff --git[\s\S]*/, '')
  p.write('patches/series', 'method/graph.patch\n')
  p.vendor()
  p.edit(CMAKE, '# cmake 5\n', '# cmake 5\n# h2o: cmake-sources\n')
  exportPatches(p.paths, { add: [{ path: CMAKE, name: 'limits/cmake.patch' }] })
  expect(p.read('patches/limits/cmake.patch').startsWith(`${header}diff --git`)).toBe(true)
  expect(p.read('patches/series')).toBe('method/graph.patch\nlimits/cmake.patch\n')
})

test.each([
  ['a file of another patch', GRAPH, 'limits/cmake.patch', /graph.patch owns that file already/],
  ['a file without an edit', 'include/llama.h', 'method/graph.patch', /has no edit/],
  ['a name that is no patch name', GRAPH, '../graph', /named like ROOM\/NAME.patch/],
])('--add refuses %s', (_what, path, name, message) => {
  const p = patchedProject()
  expect(() => exportPatches(p.paths, { add: [{ path, name }] })).toThrow(message)
})

test('edits and patches that changed meanwhile are joined when they touch different files', () => {
  const p = patchedProject()
  p.write(
    'patches/method/graph.patch',
    p.read('patches/method/graph.patch').replace('+ask_h2o();', '+ask_h2o_twice();'),
  )
  p.edit(CMAKE, 'add(h2o)', 'add(h2o more)')
  expect(exportPatches(p.paths).written).toEqual(expect.arrayContaining(['limits/cmake.patch']))
  expect(p.read('patches/method/graph.patch')).toContain('+ask_h2o_twice();')
  expect(p.tree(GRAPH)).toContain('ask_h2o_twice();')
  expect(p.tree(CMAKE)).toContain('add(h2o more)')
  expect(checkPatches(p.paths).complaints).toEqual([])
})

test('a file that changed on both sides is refused', () => {
  const p = patchedProject()
  const patch = p.read('patches/method/graph.patch').replace('+ask_h2o();', '+ask_h2o_twice();')
  p.write('patches/method/graph.patch', patch)
  p.edit(GRAPH, 'ask_h2o();', 'ask_h2o(il);')
  expect(() => exportPatches(p.paths)).toThrow(/as well:\n {2}src\/graph.cpp/)
  expect(p.read('patches/method/graph.patch')).toBe(patch)
  expect(p.tree(GRAPH)).toContain('ask_h2o(il);')
})

test('a patch whose edits are gone is named', () => {
  const p = patchedProject()
  p.edit(CMAKE, '# h2o: cmake-sources\nadd(h2o)\n', '')
  expect(exportPatches(p.paths)).toMatchObject({ empty: ['limits/cmake.patch'] })
})
