#!/usr/bin/env node
// npm test: builds whatever is missing or stale (addon, also with RPC, C++ tests, llama.cpp's tools, TypeScript, the
// stock pin), runs the C++ tests, those of the ops under sanitizers too, then vitest, which prints a dot for a test and
// failures whole. Arguments go to vitest: `npm test -- test/patches` runs only those, by name, without the C++ tests.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { modelNamed, whereIs } from './lib/models.mjs'
import { run, runPackage } from './lib/run.mjs'

const QUIET = ['--reporter=dot', '--silent=passed-only']

/** Its output is shown if a test fails, else the line that counts them. */
function ctest(folder) {
  const { status, error, stdout } = spawnSync('ctest', ['-C', 'Release', '--output-on-failure'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (error) throw new Failure(`ctest could not be run: ${error.message}`)
  if (status !== 0) throw new Failure(`a C++ test failed:\n${stdout}`)
  console.log(`C++ tests: ${/^.*tests passed.*$/m.exec(stdout)?.[0]}`)
}

/** The dots of a whole run name nothing that is skipped. */
function sayWhatIsMissing() {
  const model = modelNamed('smollm2-135m')
  if (!whereIs(model))
    console.log(`${model.file} is not in models/, its tests are skipped: npm run models -- ${model.name}`)
  for (const [program, option] of [
    ['redis-server', '--version'],
    ['nginx', '-v'],
    ['chromium', '--version'],
  ]) {
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }
    if (spawnSync(program, [option], { env, stdio: 'ignore' }).error)
      console.log(`${program} is not installed, its tests are skipped`)
  }
}

await main(() => {
  const { root } = layout()
  const asked = process.argv.slice(2)
  const nativeTests = asked.length === 0 && existsSync(join(root, 'test/native/CMakeLists.txt'))

  const tools = asked.length === 0 || asked.some((path) => path.includes('test/tools'))

  const parts = [...(nativeTests ? ['--tests'] : []), ...(tools ? ['--tools'] : [])]
  run(process.execPath, [join(root, 'scripts/build.mjs'), ...parts])
  run(process.execPath, [join(root, 'scripts/build-stock.mjs')])
  if (asked.length === 0 || asked.some((path) => path.includes('rpc'))) {
    run(process.execPath, [join(root, 'scripts/build-rpc.mjs')])
  }
  if (nativeTests) {
    ctest(join(root, 'build'))
    run(process.execPath, [join(root, 'scripts/sanitize.mjs')])
  }
  if (asked.length === 0) sayWhatIsMissing()
  runPackage('vitest', 'vitest.mjs', ['run', ...(asked.length > 0 ? asked : QUIET)])
})
