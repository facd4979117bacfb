#!/usr/bin/env node
// npm test: builds whatever is missing or stale (addon, C++ tests, llama.cpp's tools, TypeScript, the stock pin), runs the
// C++ tests, those of the ops under sanitizers too, then vitest. Arguments go to vitest: `npm test -- test/patches` runs only those, without the C++ tests.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { run, runPackage } from './lib/run.mjs'

await main(() => {
  const { root } = layout()
  const asked = process.argv.slice(2)
  const nativeTests = asked.length === 0 && existsSync(join(root, 'test/native/CMakeLists.txt'))

  const tools = asked.length === 0 || asked.some((path) => path.includes('test/tools'))

  const parts = [...(nativeTests ? ['--tests'] : []), ...(tools ? ['--tools'] : [])]
  run(process.execPath, [join(root, 'scripts/build.mjs'), ...parts])
  run(process.execPath, [join(root, 'scripts/build-stock.mjs')])
  if (nativeTests) {
    run('ctest', ['-C', 'Release', '--output-on-failure'], { cwd: join(root, 'build') })
    run(process.execPath, [join(root, 'scripts/sanitize.mjs')])
  }
  runPackage('vitest', 'vitest.mjs', ['run', ...asked])
})
