import { expect, test } from 'vitest'
import { checkPatches } from '../../scripts/lib/check.mjs'
import { exportPatches } from '../../scripts/lib/export.mjs'
import { budget, CMAKE, GRAPH, hookTable, type Project, patchedProject } from './project.js'

const FINE = hookTable(['graph-ask', GRAPH], ['cmake-sources', CMAKE])

/** Edits the tree, exports, and raises the budget, so that only what a test is about is left to complain. */
function exportEdit(p: Project, path: string, from: string, to: string): void {
  p.edit(path, from, to)
  p.write(
    'patches/budget.json',
    budget({ all: 40, rooms: { method: 20, limits: 20 }, files: { [GRAPH]: 20, [CMAKE]: 20 } }),
  )
  exportPatches(p.paths)
}

test('a project in order has no complaints', () => {
  expect(checkPatches(patchedProject().paths).complaints).toEqual([])
})

const broken: [what: string, breakIt: (p: Project) => void, complaints: (string | RegExp)[]][] = [
  [
    'an edit in the tree that is in no patch',
    (p) => p.edit(GRAPH, 'graph 3\n', 'graph three\n'),
    [/differs from what the patches give in src\/graph.cpp/],
  ],
  [
    'a patch with other bytes than its export',
    (p) =>
      p.write('patches/method/graph.patch', p.read('patches/method/graph.patch').replace(/^index .*\n/m, '')),
    [/graph.patch is not what exporting it gives \(first at line 6\)/],
  ],
  [
    'a patch that does not apply exactly',
    (p) =>
      p.write(
        'patches/limits/cmake.patch',
        p.read('patches/limits/cmake.patch').replace('-18,6 +18,8', '-15,6 +15,8'),
      ),
    [/cmake.patch does not apply where it says/],
  ],
  [
    'more lines than the budget of a file',
    (p) => p.write('patches/budget.json', budget({ files: { [GRAPH]: 1, [CMAKE]: 2 } })),
    [/^src\/graph.cpp: 2 changed lines, the budget is 1/],
  ],
  [
    'more lines than the budget of a room',
    (p) => p.write('patches/budget.json', budget({ rooms: { method: 2, limits: 1 } })),
    [/^patches\/limits: 2 changed lines, the budget is 1/],
  ],
  [
    'more lines than the budget of all patches',
    (p) => p.write('patches/budget.json', budget({ all: 3 })),
    [/^all patches: 4 changed lines, the budget is 3/],
  ],
  [
    'no budget for a file and a room, and budgets for what no patch touches',
    (p) =>
      p.write(
        'patches/budget.json',
        budget({
          rooms: { method: 2, other: 2 } as never,
          files: { [GRAPH]: 2, 'src/other.cpp': 3 } as never,
        }),
      ),
    [
      /src\/CMakeLists.txt has no budget \(2 changed lines\)/,
      /names src\/other.cpp, which no patch/,
      /patches\/limits has no budget/,
      /names patches\/other, which no patch/,
    ],
  ],
  [
    'a marker that the table does not list',
    (p) => p.write('patches/README.md', hookTable(['cmake-sources', CMAKE])),
    [/graph.patch has the marker "h2o: graph-ask" at src\/graph.cpp:11.*no row for it\./],
  ],
  [
    'a row that no patch has',
    (p) => p.write('patches/README.md', FINE.replace(/\n$/, '\n| `gone` | src/graph.cpp | whether |\n')),
    [/README.md:5: `gone` in src\/graph.cpp has no marker/],
  ],
  [
    'a row with the wrong file',
    (p) => p.write('patches/README.md', FINE.replace(`| ${GRAPH} |`, '| src/other.cpp |')),
    [
      /no row for it \(it lists that name for src\/other.cpp\)/,
      /`graph-ask` in src\/other.cpp has no marker/,
    ],
  ],
  [
    'a row that says nothing, and one listed twice',
    (p) =>
      p.write(
        'patches/README.md',
        FINE.replace('| whether to |\n', '|  |\n').replace(/\n$/, `\n| \`graph-ask\` | ${GRAPH} | again |\n`),
      ),
    [/does not say what it asks/, /listed twice/],
  ],
  [
    'a patch outside the series',
    (p) => p.write('patches/method/other.patch', 'Subject: other\n\nReason.\n'),
    [/patches\/method\/other.patch is not in patches\/series/],
  ],
  [
    'a header without subject and reason',
    (p) =>
      p.write(
        'patches/method/graph.patch',
        p.read('patches/method/graph.patch').replace(/^[\s\S]*?(?=diff --git)/, '\n'),
      ),
    [/graph.patch has no "Subject:" line/, /graph.patch does not say why/],
  ],
  [
    'a header that was never written',
    (p) =>
      p.write(
        'patches/method/graph.patch',
        p.read('patches/method/graph.patch').replace('The graph must ask.', 'TODO'),
      ),
    [/header of patches\/method\/graph.patch still says TODO/],
  ],
  [
    'a base that is not the pin',
    (p) =>
      p.pin((pin) => {
        pin.subset.tree = '0123456789012345678901234567890123456789'
      }),
    [/stands on tree [0-9a-f]{40}, the pin says 0123/],
  ],
  [
    'one file in two patches',
    (p) => {
      p.write('patches/budget.json', budget({ all: 6, rooms: { method: 4, limits: 2 } }))
      p.write('patches/method/again.patch', p.read('patches/method/graph.patch'))
      p.write('patches/series', 'method/graph.patch\nmethod/again.patch\nlimits/cmake.patch\n')
    },
    [
      /src\/graph.cpp is touched by method\/graph.patch and by method\/again.patch/,
      /again.patch does not apply/,
    ],
  ],
]

test.each(broken)('%s is named', (_what, breakIt, complaints) => {
  const p = patchedProject()
  breakIt(p)
  const found: string[] = checkPatches(p.paths).complaints
  for (const complaint of complaints) expect(found).toContainEqual(expect.stringMatching(complaint))
  expect(found).toHaveLength(complaints.length)
})

test('a change without a marker is named, with its line', () => {
  const p = patchedProject()
  exportEdit(p, GRAPH, 'graph 25\n', 'graph 25\nask_again();\n')
  expect(checkPatches(p.paths).complaints).toEqual([
    'method/graph.patch changes src/graph.cpp:28 without a marker "h2o: <hook-name>" in or before it: ask_again();',
  ])
})

test('a lone removal needs a marker too', () => {
  const p = patchedProject()
  exportEdit(p, GRAPH, 'graph 25\n', '')
  expect(checkPatches(p.paths).complaints).toEqual([
    expect.stringContaining('src/graph.cpp:27 without a marker'),
  ])
})

test('a later change in the hunk of a marker follows it', () => {
  const p = patchedProject()
  exportEdit(p, GRAPH, 'graph 13\n', 'graph 13\nend_ask();\n')
  expect(checkPatches(p.paths).complaints).toEqual([])
})

test('an earlier change in the hunk does not', () => {
  const p = patchedProject()
  exportEdit(p, GRAPH, 'graph 8\n', 'graph 8\nbegin_ask();\n')
  expect(checkPatches(p.paths).complaints).toEqual([
    expect.stringContaining('src/graph.cpp:9 without a marker'),
  ])
})
