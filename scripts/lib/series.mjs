// patches/series: the order file. Reads the patches it lists and applies them to an index, strictly.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from './fail.mjs'
import { parsePatch } from './patch-file.mjs'

/** The patches in series order: [{ name, file, text, ...parsePatch(text) }]. No series file, no patches. */
export function readSeries(paths) {
  if (!existsSync(paths.series)) return []
  const names = readFileSync(paths.series, 'utf8')
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*/, '').trim())
    .filter(Boolean)
  return names.map((name) => {
    const file = join(paths.patches, name)
    if (!existsSync(file)) throw new Failure(`patches/series lists ${name}, but there is no patches/${name}.`)
    const text = readFileSync(file, 'utf8')
    return { name, file, text, ...parsePatch(text) }
  })
}

export function seriesHash(patches) {
  const hash = createHash('sha256')
  for (const { name, text } of patches) hash.update(`${name}\0${text.length}\0${text}\0`)
  return hash.digest('hex')
}

/**
 * Applies the series to `base` inside a scratch index (no file is touched) and returns the patched tree's id.
 * Stops at the first patch that does not apply exactly where it says.
 */
export function patchedTree(git, base, patches, index) {
  const env = { GIT_INDEX_FILE: index }
  git.run(['read-tree', base], { env })
  for (const patch of patches) {
    if (patch.files.length === 0) continue
    const args = ['apply', '--cached', '--verbose', '--whitespace=nowarn', '-']
    const { status, stderr } = git.try(args, { env, input: patch.diff })
    const moved = stderr.split('\n').filter((line) => /\(offset -?\d+ lines?\)|^Context reduced/.test(line))
    if (status === 0 && moved.length === 0) continue
    const said =
      status === 0 ? moved : stderr.split('\n').filter((line) => line && !/^Checking patch/.test(line))
    throw new Failure(
      `patches/${patch.name} does not apply${status === 0 ? ' where it says' : ''}:\n  ${said.join('\n  ').trim()}`,
      'Patches must fit with no offset and no fuzz; none after this one was tried.\n' +
        `Touched: ${patch.files.map((file) => file.path).join(', ')}. Earlier in the series: ${earlier(patches, patch)}.\n` +
        'Correct the hunk, or make the edit in vendor/llama.cpp and run `npm run patches:export`\n' +
        '(patches/README.md, "Moving to another upstream").',
    )
  }
  return git.line(['write-tree'], { env })
}

function earlier(patches, patch) {
  const before = patches.slice(0, patches.indexOf(patch)).map(({ name }) => name)
  return before.join(', ') || 'none'
}

/** path -> patch, and a list of complaints about files that two patches touch. */
export function ownersOf(patches) {
  const owners = new Map()
  const complaints = []
  for (const patch of patches) {
    for (const { path } of patch.files) {
      const first = owners.get(path)
      if (first)
        complaints.push(`${path} is touched by ${first.name} and by ${patch.name}; one patch owns a file.`)
      else owners.set(path, patch)
    }
  }
  return { owners, complaints }
}
