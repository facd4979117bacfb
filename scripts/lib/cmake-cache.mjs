// What a CMake configuration leaves behind.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const cacheOf = (folder) => join(folder, 'CMakeCache.txt')

/** Runs a configuration of a build folder. If it fails, the cache is what it was: the next one does not inherit its options. */
export async function keepingCache(folder, configure) {
  const file = cacheOf(folder)
  const before = existsSync(file) ? readFileSync(file) : undefined
  try {
    await configure()
  } catch (error) {
    rmSync(file, { force: true })
    if (before) writeFileSync(file, before)
    else rmSync(join(folder, 'CMakeFiles'), { recursive: true, force: true })
    throw error
  }
}

/** Is an option on in this build folder? */
export function isOn(folder, option) {
  const file = cacheOf(folder)
  return (
    existsSync(file) && new RegExp(`^${option}:\\w+=(ON|1|TRUE|YES)$`, 'im').test(readFileSync(file, 'utf8'))
  )
}
