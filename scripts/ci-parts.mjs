#!/usr/bin/env node
// Which parts of the tests `.ci/run` runs behind core (lib/parts.mjs): those that the changes since the landed commit force,
// then the one whose turn it is. A line for each goes to stdout, name and minutes, and the reasons to stderr.
//
// .ci/landed names the last commit whose CI passed: the first commit of a piece of work moves it there. Its changes are
// counted, too, for the turn: so each part has one in seven, behind what is forced. Where the commit is not to be found (a
// shallow clone), every part is named.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { main } from './lib/fail.mjs'
import { PROJECT_ROOT } from './lib/layout.mjs'
import { forces, OTHERS } from './lib/parts.mjs'
import { taggedFiles } from './lib/tagged-files.mjs'

const LANDED = '.ci/landed'

/** What git prints, or undefined if it fails. */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: PROJECT_ROOT, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

function changedSince(commit) {
  if (git('merge-base', '--is-ancestor', commit, 'HEAD') === undefined) return undefined
  return git('diff', '--name-only', '--no-renames', commit)?.split('\n').filter(Boolean)
}

function choose() {
  const landed = readFileSync(join(PROJECT_ROOT, LANDED), 'utf8').trim()
  const changed = changedSince(landed)
  if (!changed) return OTHERS.map(({ name }) => ({ name, why: `${LANDED} names no commit before this one` }))

  const chosen = []
  for (const part of OTHERS) {
    const tagged = taggedFiles(part.name)
    const path = changed.find((path) => forces(path, part) || tagged.includes(path))
    if (path) chosen.push({ name: part.name, why: `${path} changed` })
  }
  const { name } = OTHERS[Number(git('rev-list', '--count', 'HEAD', '--', LANDED)) % OTHERS.length]
  if (!chosen.some((part) => part.name === name)) chosen.push({ name, why: 'its turn' })
  return chosen
}

await main(() => {
  for (const { name, why } of choose()) {
    console.error(`${name}: ${why}`)
    console.log(name, OTHERS.find((part) => part.name === name).minutes)
  }
})
