// The package's own version, and llama.cpp's, from the files of the package above this one (src/ts/cli or dist/cli).
import { existsSync, readFileSync } from 'node:fs'

export function packageVersion(): string {
  return read<{ version: string }>('package.json')?.version ?? 'unknown'
}

/** `0.2.0 (llama.cpp v0.5.0)` */
export function versions(): string {
  const pin = read<{ upstream: { tag: string } }>('vendor/llama.cpp.json')
  return `${packageVersion()} (llama.cpp ${pin?.upstream.tag ?? 'unknown'})`
}

/** A JSON file of the package; undefined if it is not there. */
function read<T>(name: string): T | undefined {
  let folder = new URL('./', import.meta.url)
  while (!existsSync(new URL('package.json', folder))) {
    const parent = new URL('../', folder)
    if (parent.href === folder.href) return undefined
    folder = parent
  }
  const file = new URL(name, folder)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}
