#!/usr/bin/env node
// Builds the unpatched pin and its programs into build-stock/: stock-logits and stock-fill for the parity tests,
// stock-bench for `h2o-prefill bench`. `--target NAME` builds one of them (npm run bench:stock).

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { keepingCache } from './lib/cmake-cache.mjs'
import { main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { LoggedBuild } from './lib/logged-build.mjs'
import { compilerEnv, generator, jobs, requireToolchain } from './lib/toolchain.mjs'
import { vendorStock } from './lib/vendor.mjs'

await main(async () => {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', multiple: true, default: ['stock-logits', 'stock-fill', 'stock-bench'] },
      define: { type: 'string', short: 'D', multiple: true },
    },
  })
  requireToolchain()
  const paths = layout()
  vendorStock(paths, { say: (line) => console.error(line) })

  const out = join(paths.root, 'build-stock')
  const defines = (values.define ?? []).map((define) => `-D${define}`)
  const options = { env: compilerEnv() }
  const build = new LoggedBuild('stock llama.cpp', join(out, 'build.log'))
  const source = join(paths.root, 'test/parity/stock')
  await keepingCache(out, () =>
    build.run('cmake', ['-S', source, '-B', out, ...generator(out), ...defines], options),
  )
  const cmake = ['--build', out, '--config', 'Release', '--parallel', jobs(), '--target', ...values.target]
  await build.run('cmake', cmake, options)
  build.done()
})
