// What a CMake configuration leaves behind.

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const cacheOf = (folder) => join(folder, 'CMakeCache.txt')

/** Runs a configuration of a build folder. If it fails, the next one inherits nothing of it. */
export async function keepingCache(folder, configure) {
  const file = cacheOf(folder)
  const before = existsSync(file) ? readFileSync(file) : undefined
  try {
    await configure()
  } catch (error) {
    forgetCompilers(folder)
    rmSync(file, { force: true })
    if (before) writeFileSync(file, before)
    throw error
  }
}

/** What CMake found out about them, which it would hold against others; it finds it out again. */
function forgetCompilers(folder) {
  const files = join(folder, 'CMakeFiles')
  const versions = existsSync(files) ? readdirSync(files).filter((name) => /^\d/.test(name)) : []
  for (const version of versions) rmSync(join(files, version), { recursive: true })
}

/** Is an option on in this build folder? */
export function isOn(folder, option) {
  const file = cacheOf(folder)
  if (!existsSync(file)) return false
  const entry = new RegExp(`^${option}:\\w+=(.*)$`, 'm').exec(readFileSync(file, 'utf8'))
  return entry !== null && isTrue(entry[1])
}

export const isTrue = (value) => /^(ON|1|TRUE|YES)$/i.test(value)
