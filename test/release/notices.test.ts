// The package carries the notices of what its binaries and its page are made of, word for word.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { root } from '../cli/support/spawn.js'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const words = (text: string) =>
  text
    .replace(/^\/\/ ?/gm, '')
    .replace(/\s+/g, ' ')
    .trim()

/** The comment that a source file begins with. */
const head = (text: string) => words(/^(?:\/\/.*\n)+/.exec(text)?.[0] ?? '')

test.each([
  ['llama.cpp', words(read('vendor/llama.cpp/LICENSE'))],
  ['nlohmann/json', words(read('vendor/llama.cpp/licenses/LICENSE-jsonhpp'))],
  ['tinyBLAS', head(read('vendor/llama.cpp/ggml/src/ggml-cpu/llamafile/sgemm.cpp'))],
  ['node-addon-api', words(read('node_modules/node-addon-api/LICENSE.md'))],
])('%s', (_, notice) => {
  expect(notice).toMatch(/Copyright .* Permission is hereby granted/)
  expect(words(read('THIRD-PARTY-NOTICES.md'))).toContain(notice)
})

test('the page', async () => {
  const { metafile } = await build({
    ...{ absWorkingDir: root, entryPoints: ['src/page/main.tsx'], outdir: 'dist/page' },
    ...{ bundle: true, write: false, metafile: true },
  })
  const names = Object.keys(metafile.inputs).map(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1],
  )
  const packages = new Set(names.filter((name) => name !== undefined))
  expect(packages).toContain('preact')
  for (const name of packages) {
    expect(words(read('THIRD-PARTY-NOTICES.md')), name).toContain(words(read(`node_modules/${name}/LICENSE`)))
  }
})

test('they are in the package', () => {
  expect(JSON.parse(read('package.json')).files).toContain('THIRD-PARTY-NOTICES.md')
})
