// patches/budget.json: { "<upstream file>": <most lines that patches may add and remove there> }.

import { existsSync, readFileSync } from 'node:fs'
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

/** Complaints: a file over its budget, a file without one, a budget for a file that no patch touches. */
export function checkBudget(patches, budget) {
  const complaints = []
  const touched = new Set()
  for (const patch of patches) {
    for (const file of patch.files) {
      touched.add(file.path)
      const lines = changedLines(file)
      const most = budget[file.path]
      if (!Number.isInteger(most)) {
        complaints.push(
          `${file.path} has no budget (${patch.name} changes ${lines} lines): add it to patches/budget.json.`,
        )
      } else if (lines > most) {
        complaints.push(
          `${file.path}: ${patch.name} changes ${lines} lines, its budget is ${most} (patches/budget.json).`,
        )
      }
    }
  }
  for (const path of Object.keys(budget)) {
    if (!touched.has(path)) complaints.push(`patches/budget.json names ${path}, which no patch touches.`)
  }
  return complaints
}
