// What `npm run vendor` does, with every path injected: bring upstream, apply the series, and know when to do nothing.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { baselineBundle } from './baseline.mjs'
import { Failure } from './fail.mjs'
import { readPin } from './pin.mjs'
import { patchedTree, readSeries, seriesHash } from './series.mjs'
import { Tree } from './tree.mjs'

/**
 * Makes or updates the patched tree. Returns { done: 'nothing' | 'created' | 'updated', files } (files written).
 * options: { from, force, pack, say }
 */
export function vendor(paths, options = {}) {
  const pin = readPin(paths.pinFile)
  const patches = readSeries(paths)
  const stamp = { base: pin.subset.tree, patches: seriesHash(patches) }
  const tree = new Tree(paths.tree)

  if (tree.exists() && !tree.isOurs()) setAside(paths.tree, options)
  if (!tree.exists()) {
    const files = makeTree(paths, pin, patches, stamp, options)
    return { done: 'created', files }
  }

  tree.linkSources(paths.sources)
  if (isMadeFrom(tree, stamp) && !options.force) return { done: 'nothing', files: [] }
  const files = update(tree, paths, pin, patches, stamp, options)
  return { done: 'updated', files }
}

/** Makes vendor/llama.cpp-stock: the same subset, only the patches that mend both trees, no sources of ours. */
export function vendorStock(paths, options = {}) {
  const pin = readPin(paths.pinFile)
  const patches = readSeries(paths).filter((patch) => patch.stock)
  const stamp = { base: pin.subset.tree, patches: seriesHash(patches) }
  const tree = new Tree(paths.stockTree)
  if (tree.exists() && tree.isOurs() && isMadeFrom(tree, stamp) && !options.force) {
    return { done: 'nothing', files: [] }
  }
  if (tree.exists()) rmSync(paths.stockTree, { recursive: true })
  const files = inScratch(paths.stockTree, (folder) =>
    fill(new Tree(folder), paths, pin, patches, stamp, options),
  )
  return { done: 'created', files }
}

function isMadeFrom(tree, stamp) {
  const found = tree.stamp()
  return found?.base === stamp.base && found.patches === stamp.patches
}

function makeTree(paths, pin, patches, stamp, options) {
  return inScratch(paths.tree, (folder) => {
    const tree = new Tree(folder)
    const files = fill(tree, paths, pin, patches, stamp, options)
    tree.linkSources(paths.sources)
    return files
  })
}

/** Makes the repository in an empty folder, with the patches in its files; returns the files they changed. */
function fill(tree, paths, pin, patches, stamp, options) {
  tree.create(baselineBundle({ pin, cache: paths.cache, ...options }))
  checkBase(tree, pin)
  const to = tree.withIndex((index) => patchedTree(tree.git, pin.subset.tree, patches, index))
  const files = tree.switch(pin.subset.tree, to)
  tree.writeStamp({ ...stamp, tree: to })
  return files
}

function update(tree, paths, pin, patches, stamp, options) {
  const made = tree.stamp()?.tree ?? tree.baseTree() // what the files were last made from
  const now = tree.snapshot()
  if (tree.baseTree() !== pin.subset.tree) {
    const bundle = baselineBundle({ pin, cache: paths.cache, ...options })
    if (now !== made && !options.force) refuse(tree, made, now)
    tree.rebase(bundle)
    checkBase(tree, pin)
  }
  const to = tree.withIndex((index) => patchedTree(tree.git, pin.subset.tree, patches, index))
  const edited = now !== made && now !== to
  if (edited && options.force) {
    keepEdits(tree, paths, made, now, options)
  } else if (edited && made !== to) {
    refuse(tree, made, now)
  } else if (edited) {
    tree.writeStamp({ ...stamp, tree: to }) // only headers or names changed: the edits stay
    return []
  }
  const files = tree.switch(now, to)
  tree.writeStamp({ ...stamp, tree: to })
  return files
}

function checkBase(tree, pin) {
  if (tree.baseTree() === pin.subset.tree) return
  throw new Failure(`The baseline has tree ${tree.baseTree()}, the pin says ${pin.subset.tree}.`)
}

function refuse(tree, made, now) {
  const files = tree.changed(made, now)
  throw new Failure(
    `patches/ changed, and vendor/llama.cpp has edits that are in no patch:\n  ${files.join('\n  ')}`,
    'Keep them:  npm run patches:export      (then look at what changed in patches/)\n' +
      'Drop them:  npm run vendor -- --force   (a copy is left in vendor/.cache)',
  )
}

/** Before --force drops edits, they are written down. */
function keepEdits(tree, paths, from, now, { say }) {
  mkdirSync(paths.cache, { recursive: true })
  const file = join(paths.cache, `dropped-${new Date().toISOString().replace(/[:.]/g, '-')}.diff`)
  writeFileSync(
    file,
    tree.git.run(['diff-tree', '-p', '--binary', '--full-index', from, now], { binary: true }),
  )
  say?.(`edits that were in no patch are kept in ${relative(paths.root, file)}`)
}

function setAside(folder, { force, say }) {
  if (!force) {
    throw new Failure(
      `${folder} is there, but this tool did not make it.`,
      'Move it away, or let it be replaced: npm run vendor -- --force (it is renamed, not deleted).',
    )
  }
  const aside = `${folder}-replaced-${Date.now()}`
  renameSync(folder, aside)
  say?.(`the folder that was there is now ${aside}`)
}

/** Runs `body` on a scratch folder beside `target` and renames it into place, so a half-made tree is never seen. */
function inScratch(target, body) {
  mkdirSync(dirname(target), { recursive: true })
  // at the same depth as the target, so that relative links hold after the rename
  const scratch = mkdtempSync(join(dirname(target), '.tmp-'))
  chmodSync(scratch, 0o755)
  try {
    const result = body(scratch)
    if (existsSync(target)) throw new Failure(`${target} appeared while it was being made.`)
    renameSync(scratch, target)
    return result
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
