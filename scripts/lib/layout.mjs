// Where things are, relative to a project root. Tests pass a root of their own.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const PROJECT_ROOT = fileURLToPath(new URL('../..', import.meta.url))

export function layout(root = PROJECT_ROOT) {
  return {
    root,
    pinFile: join(root, 'vendor/llama.cpp.json'),
    cache: join(root, 'vendor/.cache'),
    tree: join(root, 'vendor/llama.cpp'),
    stockTree: join(root, 'vendor/llama.cpp-stock'),
    // what the patched tree finds as its own folders: the method, and the limits on what a user's input may take
    sources: { h2o: join(root, 'src/native/h2o'), limits: join(root, 'src/native/limits') },
    patches: join(root, 'patches'),
    series: join(root, 'patches/series'),
    budget: join(root, 'patches/budget.json'),
    hookTable: join(root, 'patches/README.md'),
  }
}
