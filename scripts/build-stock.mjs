#!/usr/bin/env node
// Builds the unpatched pin and its two programs into build-stock/: stock-logits for the parity tests, stock-bench for
// `h2o-prefill bench`. `--target NAME` builds one of them (npm run bench:stock).

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { has, run } from './lib/run.mjs'
import { compilerEnv, jobs, requireToolchain } from './lib/toolchain.mjs'
import { vendorStock } from './lib/vendor.mjs'

await main(() => {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', multiple: true, default: ['stock-logits', 'stock-bench'] },
      define: { type: 'string', short: 'D', multiple: true },
    },
  })
  requireToolchain()
  const paths = layout()
  vendorStock(paths, { say: (line) => console.error(line) })

  const out = join(paths.root, 'build-stock')
  const fresh = !existsSync(join(out, 'CMakeCache.txt'))
  const generator = fresh && process.platform !== 'win32' && has('ninja') ? ['-G', 'Ninja'] : []
  const defines = (values.define ?? []).map((define) => `-D${define}`)
  const env = compilerEnv()
  run('cmake', ['-S', join(paths.root, 'test/parity/stock'), '-B', out, ...generator, ...defines], { env })
  run('cmake', ['--build', out, '--config', 'Release', '--target', ...values.target, '--parallel', jobs()], {
    env,
  })
})
