// Programs that a bundler or a packager made of the package, as docs/library.md says.

import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createPackageWithOptions } from '@electron/asar'
import { nodeFileTrace } from '@vercel/nft'
import { build, type Format } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import webpack from 'webpack'
import { root } from '../cli/support/spawn.js'
import { emptyFolder, install, pack, remove, run } from './support.js'

const MODEL = join(root, 'model/recall-q8_0.gguf')
const BINARIES = `prebuilds/${process.platform}-${process.arch}`
/** One of the libraries that lie beside the binary of a prebuild. */
const LIBRARY =
  { darwin: 'libh2o-ggml.dylib', win32: 'h2o-ggml.dll' }[process.platform as 'darwin'] ?? 'libh2o-ggml.so'

const ESM = `import { loadModel } from 'h2o-llama'
const model = await loadModel(process.argv[2])
console.log(model.architecture)
await model.dispose()
`
const COMMON_JS = `const { loadModel } = require('h2o-llama')
loadModel(process.argv[2]).then((model) => {
  console.log(model.architecture)
  return model.dispose()
})
`

let project: string
let elsewhere: string

beforeAll(async () => {
  project = emptyFolder('bundles')
  elsewhere = emptyFolder('bundles-elsewhere')
  const home = await install(await pack(root, elsewhere), project)
  remove(join(home, 'prebuilds'))
  mkdirSync(join(home, BINARIES), { recursive: true })
  copyFileSync(join(root, 'build/Release/h2o_llama.node'), join(home, BINARIES, 'h2o-llama.node'))
  writeFileSync(join(home, BINARIES, LIBRARY), '')
  writeFileSync(join(project, 'app.mjs'), ESM)
  writeFileSync(join(project, 'app.cjs'), COMMON_JS)
}, 120_000)

afterAll(() => {
  remove(project)
  remove(elsewhere)
})

const start = (file: string, env: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, [file, MODEL], project, env)

async function byEsbuild(entry: string, format: Format, external: string[] = []): Promise<string> {
  const outfile = join(project, 'out', `${entry}-${external.length}.${format === 'esm' ? 'mjs' : 'cjs'}`)
  const { warnings } = await build({
    ...{ absWorkingDir: project, entryPoints: [entry], outfile, format, external },
    ...{ bundle: true, platform: 'node', logLevel: 'silent' },
  })
  expect(warnings).toEqual([])
  return outfile
}

function byWebpack(entry: string, externals: Record<string, string> = {}): Promise<string> {
  const filename = `webpack-${Object.keys(externals).length}-${entry}.cjs`
  const output = { path: join(project, 'out'), filename, chunkFilename: `[id]-${filename}` }
  const config = { context: project, entry: `./${entry}`, target: 'node20', output, externals }
  return new Promise((resolve, reject) => {
    webpack({ ...config, mode: 'production' }, (error, stats) => {
      if (error || !stats || stats.hasErrors() || stats.hasWarnings())
        return reject(error ?? new Error(stats?.toString()))
      resolve(join(output.path, filename))
    })
  })
}

test('without a bundle, in a file and in none', async () => {
  expect(await start('app.mjs')).toBe('qwen3\n')
  expect(await start('app.cjs')).toBe('qwen3\n')
  expect(await run(process.execPath, ['-e', COMMON_JS.replace('[2]', '[1]'), MODEL], project)).toBe('qwen3\n')
})

describe('a bundle', () => {
  test.each([
    ['app.mjs', 'esm'],
    ['app.cjs', 'cjs'],
  ] as const)('by esbuild, of %s', async (entry, format) => {
    expect(await start(await byEsbuild(entry, format))).toBe('qwen3\n')
    expect(await start(await byEsbuild(entry, format, ['h2o-llama']))).toBe('qwen3\n')
  })

  test.each(['app.mjs', 'app.cjs'])('by webpack, of %s', async (entry) => {
    expect(await start(await byWebpack(entry))).toBe('qwen3\n')
    expect(await start(await byWebpack(entry, { 'h2o-llama': 'commonjs h2o-llama' }))).toBe('qwen3\n')
  })

  test('that lies elsewhere says what it lacks, and runs with H2O_LLAMA_BINARY', async () => {
    const moved = join(elsewhere, 'app.mjs')
    copyFileSync(await byEsbuild('app.mjs', 'esm'), moved)
    await expect(start(moved)).rejects.toThrow(/ERR_H2O_NO_BINARY[\s\S]*H2O_LLAMA_BINARY/)
    const binary = join(project, 'node_modules/h2o-llama', BINARIES, 'h2o-llama.node')
    expect(await start(moved, { H2O_LLAMA_BINARY: binary })).toBe('qwen3\n')
  })
})

test.each(['app.mjs', 'app.cjs'])('@vercel/nft finds all that %s needs', async (entry) => {
  const { fileList } = await nodeFileTrace([join(project, entry)], { base: project })
  const files = [...fileList].map((file) => file.replaceAll('\\', '/'))
  expect(files).toContain(`node_modules/h2o-llama/${BINARIES}/${LIBRARY}`)

  const traced = join(elsewhere, `traced-${entry}`)
  for (const file of files) {
    mkdirSync(dirname(join(traced, file)), { recursive: true })
    cpSync(join(project, file), join(traced, file))
  }
  expect(await start(join(traced, entry))).toBe('qwen3\n')
})

// Electron itself redirects require() from the archive to what lies unpacked beside it
test("Electron's archive, packed as the document says, leaves binaries outside", async () => {
  const text = readFileSync(join(root, 'docs/library.md'), 'utf8')
  const unpack = /asarUnpack: \['([^']+)'\]/.exec(text)?.[1] as string
  const app = join(elsewhere, 'app')
  cpSync(join(project, 'node_modules'), join(app, 'node_modules'), { recursive: true })
  await createPackageWithOptions(app, join(elsewhere, 'app.asar'), { unpack })

  const folder = join(elsewhere, 'app.asar.unpacked/node_modules/h2o-llama', BINARIES)
  expect(existsSync(join(folder, LIBRARY))).toBe(true)
  const H2O_LLAMA_BINARY = join(folder, 'h2o-llama.node')
  expect(await start('app.mjs', { H2O_LLAMA_BINARY })).toBe('qwen3\n')
})
