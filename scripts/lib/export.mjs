// Edits in vendor/llama.cpp -> patches/*.patch. A patch keeps its header byte for byte; its diff is made anew from the
// files it owns, with flags that give the same bytes on every machine.

import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Failure } from './fail.mjs'
import { parsePatch } from './patch-file.mjs'
import { readPin } from './pin.mjs'
import { ownersOf, patchedTree, readSeries, seriesHash } from './series.mjs'
import { Tree } from './tree.mjs'

// biome-ignore format: one flag a line reads worse
const DIFF = [
  'diff-tree', '-r', '-p', '--no-color', '--no-ext-diff', '--no-textconv', '--no-renames', '--full-index', '--binary',
  '--unified=3', '--inter-hunk-context=0', '--diff-algorithm=myers', '--indent-heuristic', '--no-relative',
  '--ignore-submodules=none', '--src-prefix=a/', '--dst-prefix=b/',
]

/** The diff of some files between two trees. */
export function diffOf(git, from, to, paths) {
  if (paths.length === 0) return ''
  return git.run([...DIFF, from, to, '--', ...paths.map((path) => `:(literal)${path}`)])
}

/** { texts: Map(name -> text), unowned: [path], empty: [name] } of the series against the tree `now`. */
export function exported(tree, patches, now) {
  const base = tree.baseTree()
  const changed = tree.changed(base, now)
  const { owners, complaints } = ownersOf(patches)
  if (complaints.length > 0) throw new Failure(complaints.join('\n'))
  const texts = new Map()
  const empty = []
  for (const patch of patches) {
    const diff = diffOf(
      tree.git,
      base,
      now,
      patch.files.map(({ path }) => path),
    )
    if (diff === '') empty.push(patch.name)
    texts.set(patch.name, patch.header + diff)
  }
  return { texts, unowned: changed.filter((path) => !owners.has(path)), empty }
}

/**
 * Writes the patches. add: [{ path, name }] gives files an owner, making the patch (and its line in the series) when it
 * is new. Returns { written: [name], created: [name], empty: [name] }.
 * @param {ReturnType<typeof import('./layout.mjs').layout>} paths
 * @param {{ add?: { path: string, name: string }[] }} [options]
 */
export function exportPatches(paths, { add = [] } = {}) {
  const pin = readPin(paths.pinFile)
  const tree = new Tree(paths.tree)
  if (!tree.exists() || !tree.isOurs())
    throw new Failure('There is no vendor/llama.cpp.', 'Run `npm run vendor` first.')

  const patches = readSeries(paths)
  const found = tree.snapshot()
  const now = withPatches(tree, pin, patches, found)
  const created = assign(patches, add, new Set(tree.changed(tree.baseTree(), now)), paths.patches)
  const { texts, unowned, empty } = exported(tree, patches, now)
  if (unowned.length > 0) {
    throw new Failure(
      `changed upstream files that no patch owns:\n  ${unowned.join('\n  ')}`,
      `Give each a patch, an old one or a new one:\n${unowned
        .map((path) => `  npm run patches:export -- --add ${path}=ROOM/NAME.patch`)
        .join('\n')}`,
    )
  }

  const written = []
  for (const [name, text] of texts) {
    const file = join(paths.patches, name)
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    written.push(name)
  }
  if (created.length > 0) appendToSeries(paths.series, created)
  tree.switch(found, now)
  tree.writeStamp({ base: pin.subset.tree, patches: seriesHash(readSeries(paths)), tree: now })
  return { written, created, empty }
}

/**
 * The tree to export: the files as found, plus what the patches on disk changed since the files were made from them (a
 * pull brought it). A file that changed on both sides is for a person to join.
 */
function withPatches(tree, pin, patches, found) {
  if (tree.baseTree() !== pin.subset.tree) {
    throw new Failure(
      'The pin changed since vendor/llama.cpp was made from it.',
      'Without edits in the tree: npm run vendor. With edits: put the old pin back, export them, then change the pin.',
    )
  }
  const stamp = tree.stamp()
  if (stamp?.patches === seriesHash(patches)) return found
  const made = stamp?.tree ?? tree.baseTree()
  const onDisk = tree.withIndex((index) => patchedTree(tree.git, tree.baseTree(), patches, index))
  const ours = tree.changed(made, found)
  const theirs = new Set(tree.changed(made, onDisk))
  const differ = new Set(tree.changed(found, onDisk))
  const both = ours.filter((path) => theirs.has(path) && differ.has(path))
  if (both.length > 0) {
    throw new Failure(
      `changed in vendor/llama.cpp and, since it was made, in patches/ as well:\n  ${both.join('\n  ')}`,
      'Run `npm run vendor -- --force` (a copy of the edits is left in vendor/.cache), make them again on the new files\n' +
        'and export.',
    )
  }
  return tree.overlay(onDisk, found, ours)
}

/**
 * Puts each added file under its patch (a file outside the series keeps its header); returns the new patches' names.
 */
function assign(patches, add, changed, folder) {
  const created = []
  for (const { path, name } of add) {
    if (!/^[\w-]+\/[\w.-]+\.patch$/.test(name))
      throw new Failure(`--add ${path}=${name}: a patch is named like ROOM/NAME.patch.`)
    if (!changed.has(path))
      throw new Failure(`--add ${path}=${name}: ${path} has no edit in vendor/llama.cpp.`)
    const owner = ownersOf(patches).owners.get(path)
    if (owner && owner.name !== name)
      throw new Failure(`--add ${path}=${name}: ${owner.name} owns that file already.`)
    let patch = patches.find((known) => known.name === name)
    if (!patch) {
      const file = join(folder, name)
      const { header } = existsSync(file)
        ? parsePatch(readFileSync(file, 'utf8'))
        : { header: newHeader(name) }
      patch = { name, header, files: [] }
      patches.push(patch)
      created.push(name)
    }
    if (!owner) patch.files.push({ path, hunks: [] })
  }
  return created
}

const newHeader = (name) =>
  `Subject: ${basename(name, '.patch')}: TODO say in one line what it does\n\nTODO say why it must exist.\n\n`

function appendToSeries(file, names) {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const gap = before === '' || before.endsWith('\n') ? '' : '\n'
  appendFileSync(file, `${gap}${names.join('\n')}\n`)
}
