// A throw-away project with a tiny upstream: what the patch tooling needs, in a temp folder, without the network.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll } from 'vitest'
import { layout } from '../../scripts/lib/layout.mjs'
import { integrityOf } from '../../scripts/lib/tarball.mjs'
import { vendor } from '../../scripts/lib/vendor.mjs'

export const GRAPH = 'src/graph.cpp'
export const CMAKE = 'src/CMakeLists.txt'

const numbered = (word: string) => Array.from({ length: 30 }, (_, i) => `${word} ${i + 1}`)

const UPSTREAM: Record<string, string> = {
  [GRAPH]: `${numbered('graph').join('\n')}\n`,
  [CMAKE]: `${numbered('# cmake').join('\n')}\n`,
  'include/llama.h': '// llama\n',
  'docs/long.md': 'not part of the build\n',
  'tools/ui/big.js': 'not part of the build\n',
  'tools/ui/CMakeLists.txt': '# ui\n',
}

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** The outside of the tooling: an ordinary git, with an identity given on the command line. */
export function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
  const config = [
    '-c',
    'user.name=test',
    '-c',
    'user.email=test@test.invalid',
    '-c',
    'init.defaultBranch=main',
  ]
  return execFileSync('git', [...config, ...args], { cwd, env, encoding: 'utf8', stdio: 'pipe' }).trim()
}

export function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

export interface Project {
  root: string
  paths: ReturnType<typeof layout>
  /** a checkout that holds the pinned tree */
  upstream: string
  read(path: string): string
  write(path: string, text: string): void
  /** reads and changes vendor/llama.cpp/<path> */
  tree(path: string): string
  edit(path: string, from: string, to: string): void
  pin(change: (pin: Pin) => void): void
  vendor(options?: { force?: boolean; from?: string }): { done: string; files: string[] }
}

export interface Pin {
  npm: Record<string, string>
  upstream: Record<string, string>
  subset: { tree: string; include: string[]; exclude: string[] }
}

/** A project whose vendor/llama.cpp is not made yet. */
export const emptyProject = (): Project => copyOf('empty', makeEmpty)

/** A project with two patches in order, method\/graph.patch and limits\/cmake.patch: vendored, clean. */
export const patchedProject = (): Project => copyOf('patched', makePatched)

const templates = new Map<string, string>()

/** Every test gets a copy of its own; the original is made once per test file. */
function copyOf(name: string, make: (home: string) => void): Project {
  const template = templates.get(name) ?? newFolder()
  if (!templates.has(name)) make(template)
  templates.set(name, template)
  const home = newFolder()
  cpSync(template, home, { recursive: true, verbatimSymlinks: true })
  return open(home)
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'h2o-patches-'))
  folders.push(folder)
  return folder
}

function open(home: string): Project {
  const paths = layout(join(home, 'project'))
  const upstream = join(home, 'upstream')
  const project: Project = {
    root: paths.root,
    paths,
    upstream,
    read: (path) => readFileSync(join(paths.root, path), 'utf8'),
    write: (path, text) => write(join(paths.root, path), text),
    tree: (path) => readFileSync(join(paths.tree, path), 'utf8'),
    edit(path, from, to) {
      const before = project.tree(path)
      if (!before.includes(from)) throw new Error(`${path} has no ${from}`)
      writeFileSync(join(paths.tree, path), before.replace(from, to))
    },
    pin(change) {
      const pin = JSON.parse(readFileSync(paths.pinFile, 'utf8'))
      change(pin)
      writeFileSync(paths.pinFile, JSON.stringify(pin))
    },
    vendor: (options = {}) => vendor(paths, { from: upstream, ...options }),
  }
  return project
}

function makeEmpty(home: string): void {
  const project = open(home)
  const { paths, upstream } = project
  for (const [path, text] of Object.entries(UPSTREAM)) write(join(upstream, path), text)
  git(upstream, 'init', '-q')
  git(upstream, 'add', '.')
  git(upstream, 'commit', '-q', '-m', 'upstream')

  const pin: Pin = {
    npm: { package: 'tiny-upstream', version: '1.0.0', integrity: 'sha512-none', bundle: 'llama/git.bundle' },
    upstream: {
      tag: 'v0',
      commit: git(upstream, 'rev-parse', 'HEAD'),
      tree: git(upstream, 'rev-parse', 'HEAD^{tree}'),
      date: '2026-01-01T00:00:00Z',
    },
    subset: {
      tree: '',
      include: ['src', 'include', 'tools', 'tools/ui/CMakeLists.txt'],
      exclude: ['tools/ui'],
    },
  }
  write(paths.pinFile, JSON.stringify(pin))
  write(join(paths.sources.h2o, 'h2o.h'), '// our header\n')
  write(join(paths.sources.limits, 'limit.h'), '// a limit\n')
  write(paths.series, '')
  project.pin((written) => {
    written.subset.tree = treeInMessage(() => project.vendor())
  })
}

function makePatched(home: string): void {
  makeEmpty(home)
  const project = open(home)
  const { upstream } = project
  const diff = (path: string, line: string, added: string) => {
    const before = UPSTREAM[path] ?? ''
    write(join(upstream, path), before.replace(`${line}\n`, `${line}\n${added}\n`))
    const text = git(upstream, 'diff', '--full-index', '--', path)
    git(upstream, 'checkout', '-q', '--', path)
    return `${text}\n`
  }
  const graph = diff(GRAPH, 'graph 10', '// h2o: graph-ask\nask_h2o();')
  const cmake = diff(CMAKE, '# cmake 20', '# h2o: cmake-sources\nadd(h2o)')
  project.write('patches/method/graph.patch', `Subject: graph: ask h2o\n\nThe graph must ask.\n\n${graph}`)
  project.write(
    'patches/limits/cmake.patch',
    `Subject: cmake: our sources\n\nThe build must know them.\n\n${cmake}`,
  )
  project.write('patches/series', 'method/graph.patch\nlimits/cmake.patch\n')
  project.write('patches/budget.json', budget())
  project.write('patches/README.md', hookTable(['graph-ask', GRAPH], ['cmake-sources', CMAKE]))
  project.vendor()
}

/** patches/budget.json of a project with two patches of two lines. */
export function budget({
  all = 4,
  rooms = { method: 2, limits: 2 },
  files = { [GRAPH]: 2, [CMAKE]: 2 },
} = {}) {
  return JSON.stringify({ all, rooms, files })
}

/** The subset's tree, as the error about a wrong one names it. */
export function treeInMessage(body: () => unknown): string {
  try {
    body()
  } catch (error) {
    const tree = /has tree ([0-9a-f]{40})/.exec(String(error))?.[1]
    if (tree) return tree
    throw error
  }
  throw new Error('expected a complaint about subset.tree')
}

export function hookTable(...rows: [name: string, file: string][]): string {
  const lines = rows.map(([name, file]) => `| \`${name}\` | ${file} | whether to |`)
  return ['| hook | file | what it asks |', '|---|---|---|', ...lines, ''].join('\n')
}

/** The npm tarball of `project`'s upstream, as the registry would give it; the pin is set to it. */
export function tarball(project: Project): Buffer {
  const bundle = join(project.upstream, '..', 'git.bundle')
  git(project.upstream, 'bundle', 'create', '-q', bundle, 'HEAD')
  const bytes = gzipSync(
    Buffer.concat([tarEntry('package/llama/git.bundle', readFileSync(bundle)), Buffer.alloc(1024)]),
  )
  project.pin((pin) => {
    pin.npm.integrity = integrityOf(bytes)
  })
  return bytes
}

function tarEntry(name: string, bytes: Buffer): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write(bytes.length.toString(8).padStart(11, '0'), 124)
  header.write('0', 156)
  header.write('ustar', 257)
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)])
}
