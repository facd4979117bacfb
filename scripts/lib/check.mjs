// What `npm run patches:check` proves. Returns complaints, each a sentence that says where and what.

import { existsSync, readdirSync } from 'node:fs'
import { checkBudget, readBudget } from './budget.mjs'
import { exported } from './export.mjs'
import { Failure } from './fail.mjs'
import { compareHooks, readHookTable, unmarked } from './hooks.mjs'
import { readPin } from './pin.mjs'
import { ownersOf, patchedTree, readSeries } from './series.mjs'
import { Tree } from './tree.mjs'

export function checkPatches(paths) {
  const pin = readPin(paths.pinFile)
  const tree = new Tree(paths.tree)
  if (!tree.exists() || !tree.isOurs())
    throw new Failure('There is no vendor/llama.cpp.', 'Run `npm run vendor` first.')
  const patches = readSeries(paths)
  const complaints = [
    ...checkPin(tree, pin),
    ...checkFiles(paths, patches),
    ...checkHeaders(patches),
    ...ownersOf(patches).complaints,
    ...checkBudget(patches, readBudget(paths.budget)),
    ...checkMarkers(patches),
    ...compareHooks(patches, readHookTable(paths.hookTable)),
  ]
  return { complaints: [...complaints, ...checkTree(tree, patches)], patches }
}

function checkPin(tree, pin) {
  const found = tree.baseTree()
  if (found === pin.subset.tree) return []
  return [
    `vendor/llama.cpp stands on tree ${found}, the pin says ${pin.subset.tree}: run \`npm run vendor\`.`,
  ]
}

function checkFiles(paths, patches) {
  const listed = patches.map(({ name }) => name)
  const there = existsSync(paths.patches)
    ? readdirSync(paths.patches, { recursive: true })
        .map((name) => name.replaceAll('\\', '/'))
        .filter((name) => name.endsWith('.patch'))
    : []
  return [
    ...there
      .filter((name) => !listed.includes(name))
      .map((name) => `patches/${name} is not in patches/series.`),
    ...listed
      .filter((name, i) => listed.indexOf(name) !== i)
      .map((name) => `patches/series lists ${name} twice.`),
  ]
}

function checkHeaders(patches) {
  return patches.flatMap(({ name, subject, reason, files, header }) => [
    ...(subject ? [] : [`patches/${name} has no "Subject:" line.`]),
    ...(reason
      ? []
      : [`patches/${name} does not say why it must exist (text between Subject and the diff).`]),
    ...(/\bTODO\b/.test(header) ? [`the header of patches/${name} still says TODO.`] : []),
    ...(files.length > 0
      ? []
      : [`patches/${name} changes nothing: delete it and its line in patches/series.`]),
  ])
}

function checkMarkers(patches) {
  return patches.flatMap((patch) =>
    unmarked(patch).map(
      ({ file, line, text }) =>
        `${patch.name} changes ${file}:${line} without a marker "h2o: <hook-name>" in or before it: ${text}`,
    ),
  )
}

/** The series applies exactly, the tree's files are what it gives, and exporting them gives the patches' bytes. */
function checkTree(tree, patches) {
  let given
  try {
    given = tree.withIndex((index) => patchedTree(tree.git, tree.baseTree(), patches, index))
  } catch (error) {
    if (error instanceof Failure) return [error.message]
    throw error
  }
  const complaints = []
  const now = tree.snapshot()
  if (now !== given) {
    const files = tree.changed(given, now)
    complaints.push(
      `vendor/llama.cpp differs from what the patches give in ${files.join(', ')}: ` +
        'run `npm run patches:export` (or `npm run vendor` if the patches are newer).',
    )
  }
  if (ownersOf(patches).complaints.length > 0) return complaints
  const { texts } = exported(tree, patches, given)
  for (const { name, text } of patches) {
    const line = firstDifference(text, texts.get(name))
    if (line)
      complaints.push(
        `patches/${name} is not what exporting it gives (first at line ${line}): run \`npm run patches:export\`.`,
      )
  }
  return complaints
}

function firstDifference(a, b) {
  if (a === b) return 0
  const [left, right] = [a.split('\n'), b.split('\n')]
  const at = left.findIndex((line, i) => line !== right[i])
  return (at === -1 ? left.length : at) + 1
}
