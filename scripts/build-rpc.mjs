#!/usr/bin/env node
// Builds the addon with RPC and ggml-rpc-server into build-rpc, for test/addon/model/rpc.test.ts. `npm run test:part stock` does it
// behind the build without, so that all but llama's unity files is in ccache: half a minute of two cores, a quarter the
// next time.

import { join } from 'node:path'
import { main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { LoggedBuild } from './lib/logged-build.mjs'
import { compilerEnv, generator, jobs, requireToolchain } from './lib/toolchain.mjs'
import { vendor } from './lib/vendor.mjs'

await main(async () => {
  requireToolchain()
  const paths = layout()
  vendor(paths, { say: (line) => console.error(line) })

  const out = join(paths.root, 'build-rpc')
  const env = compilerEnv()
  const targets = ['--target', 'h2o_llama', 'ggml-rpc-server']
  const build = new LoggedBuild('addon with RPC', join(out, 'build.log'))
  await build.run('cmake', ['-S', paths.root, '-B', out, ...generator(out), '-DGGML_RPC=ON'], { env })
  await build.run('cmake', ['--build', out, '--parallel', jobs(), ...targets], { env })
  build.done()
})
