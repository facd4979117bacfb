#!/usr/bin/env node
// Builds the unpatched pin and test/parity/stock/stock-logits into build-stock/. Used by the parity tests.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { has, run } from './lib/run.mjs'
import { compilerEnv, jobs, requireToolchain } from './lib/toolchain.mjs'
import { vendorStock } from './lib/vendor.mjs'

await main(() => {
  const { values } = parseArgs({ options: { define: { type: 'string', short: 'D', multiple: true } } })
  requireToolchain()
  const paths = layout()
  vendorStock(paths, { say: (line) => console.error(line) })

  const out = join(paths.root, 'build-stock')
  const fresh = !existsSync(join(out, 'CMakeCache.txt'))
  const generator = fresh && process.platform !== 'win32' && has('ninja') ? ['-G', 'Ninja'] : []
  const defines = (values.define ?? []).map((define) => `-D${define}`)
  const env = compilerEnv()
  run('cmake', ['-S', join(paths.root, 'test/parity/stock'), '-B', out, ...generator, ...defines], { env })
  run('cmake', ['--build', out, '--config', 'Release', '--target', 'stock-logits', '--parallel', jobs()], {
    env,
  })
})
