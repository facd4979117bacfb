// patches/budget.json says how many lines patches may change, added and removed: all of them together, those of each room
// (a folder of patches/), and those of each upstream file.
// { "all": <most>, "rooms": { "<folder>": <most> }, "files": { "<upstream file>": <most> } }

import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Failure } from './fail.mjs'
import { changedLines } from './patch-file.mjs'

export function readBudget(file) {
  if (!existsSync(file)) return {}
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Failure(`${file} is not JSON: ${error.message}`)
  }
}

/** { all, rooms: Map(room -> lines) } that the patches change. */
export function sums(patches) {
  const rooms = new Map()
  for (const { name, files } of patches) {
    const lines = files.reduce((sum, file) => sum + changedLines(file), 0)
    rooms.set(dirname(name), (rooms.get(dirname(name)) ?? 0) + lines)
  }
  return { all: [...rooms.values()].reduce((a, b) => a + b, 0), rooms }
}

/** Complaints: more lines than a budget, no budget, a budget for what is not there. */
export function checkBudget(patches, budget) {
  const { all, rooms } = sums(patches)
  const files = new Map(patches.flatMap((patch) => patch.files.map((f) => [f.path, changedLines(f)])))
  return [
    ...compare(new Map([['all patches', all]]), { 'all patches': budget.all }),
    ...compare(rooms, budget.rooms ?? {}, 'patches/'),
    ...compare(files, budget.files ?? {}),
  ]
}

function compare(found, most, prefix = '') {
  const complaints = []
  for (const [name, lines] of found) {
    if (!Number.isInteger(most[name])) {
      complaints.push(
        `${prefix}${name} has no budget (${lines} changed lines): add it to patches/budget.json.`,
      )
    } else if (lines > most[name]) {
      complaints.push(
        `${prefix}${name}: ${lines} changed lines, the budget is ${most[name]} (patches/budget.json).`,
      )
    }
  }
  for (const name of Object.keys(most)) {
    if (!found.has(name))
      complaints.push(`patches/budget.json names ${prefix}${name}, which no patch touches.`)
  }
  return complaints
}
