import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inSubset } from '../../scripts/lib/pin.mjs'
import { vendor } from '../../scripts/lib/vendor.mjs'
import { emptyProject, GRAPH, git, type Project, tarball, treeInMessage, write } from './project.js'

/** Vendors from "npm": a stand-in for `npm pack` that writes `bytes`. */
function fromNpm(p: Project, bytes: Buffer): ReturnType<typeof vendor> {
  const pack = (_spec: string, into: string) => writeFileSync(join(into, 'tiny-upstream-1.0.0.tgz'), bytes)
  return vendor(p.paths, { pack })
}

test('the tarball with the pinned integrity is taken, and not fetched twice', () => {
  const p = emptyProject()
  expect(fromNpm(p, tarball(p))).toMatchObject({ done: 'created' })
  expect(p.tree(GRAPH)).toContain('graph 30')
  const refuse = () => {
    throw new Error('fetched again')
  }
  expect(vendor(p.paths, { force: true, pack: refuse })).toMatchObject({ done: 'updated' })
})

test('a tarball with another integrity is refused, with both values, and not kept', () => {
  const p = emptyProject()
  const bytes = tarball(p)
  const other = Buffer.concat([bytes, Buffer.from('x')])
  expect(() => fromNpm(p, other)).toThrow(
    /not the pinned tarball[\s\S]*pinned: sha512-[\s\S]*found: {2}sha512-/,
  )
  expect(existsSync(p.paths.tree)).toBe(false)
  expect(existsSync(join(p.paths.cache, 'tiny-upstream-1.0.0.tgz'))).toBe(false)
})

test.each(['commit', 'tree'])('a bundle with another %s than the pinned one is refused', (field) => {
  const p = emptyProject()
  const bytes = tarball(p)
  p.pin((pin) => {
    pin.upstream[field] = '0123456789012345678901234567890123456789'
  })
  expect(() => fromNpm(p, bytes)).toThrow(/does not hold the pinned upstream/)
  expect(existsSync(p.paths.tree)).toBe(false)
})

test('a subset with another tree than the pinned one is refused', () => {
  const p = emptyProject()
  p.pin((pin) => {
    pin.subset.tree = '0123456789012345678901234567890123456789'
  })
  expect(() => p.vendor()).toThrow(/subset of upstream has tree [0-9a-f]{40}, the pin says "0123/)
})

test('a checkout without the pinned tree is refused; one with more commits is taken', () => {
  const p = emptyProject()
  write(join(p.upstream, 'src/later.cpp'), 'later\n')
  git(p.upstream, 'add', '.')
  git(p.upstream, 'commit', '-q', '-m', 'later')
  expect(p.vendor()).toMatchObject({ done: 'created' })
  expect(existsSync(join(p.paths.tree, 'src/later.cpp'))).toBe(false)

  const other = emptyProject()
  other.pin((pin) => {
    pin.upstream.tree = '0123456789012345678901234567890123456789'
  })
  expect(() => other.vendor()).toThrow(/does not hold the pinned tree/)
  expect(() => other.vendor({ from: join(other.root, 'nowhere') })).toThrow(/no such file or folder/)
})

test('a bundle file and a tarball file can be named', () => {
  for (const [name, make] of [
    [
      'up.bundle',
      (p: Project) => git(p.upstream, 'bundle', 'create', '-q', join(p.root, 'up.bundle'), 'HEAD'),
    ],
    ['up.tgz', (p: Project) => writeFileSync(join(p.root, 'up.tgz'), tarball(p))],
  ] as const) {
    const p = emptyProject()
    make(p)
    expect(p.vendor({ from: join(p.root, name) })).toMatchObject({ done: 'created' })
  }
})

test('moving the pin: the files follow, the patches stay on', () => {
  const p = emptyProject()
  p.vendor()
  write(join(p.upstream, 'include/llama.h'), '// llama 2\n')
  git(p.upstream, 'commit', '-q', '-a', '-m', 'next')
  p.pin((pin) => {
    pin.upstream.tree = git(p.upstream, 'rev-parse', 'HEAD^{tree}')
    pin.subset.tree = ''
  })
  p.pin((pin) => {
    pin.subset.tree = treeInMessage(() => p.vendor())
  })
  expect(p.vendor()).toEqual({ done: 'updated', files: ['include/llama.h'] })
  expect(p.tree('include/llama.h')).toBe('// llama 2\n')
})

test('the longest listed prefix decides what the subset takes', () => {
  const subset = { include: ['tools', 'tools/ui/a.txt'], exclude: ['tools/ui'] }
  const taken = (path: string) => inSubset(subset, path)
  expect(['tools/x.cpp', 'tools/ui/a.txt', 'tools/ui/b.txt', 'toolset', 'docs'].map(taken)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
