// The package's own version, from the package.json above this file (src/ts/cli or dist/cli).
import { existsSync, readFileSync } from 'node:fs'

export function packageVersion(): string {
  let folder = new URL('./', import.meta.url)
  while (!existsSync(new URL('package.json', folder))) {
    const parent = new URL('../', folder)
    if (parent.href === folder.href) return 'unknown'
    folder = parent
  }
  return JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')).version
}
