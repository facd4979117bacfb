#!/usr/bin/env node
// npm run sanitize: builds the op tests (test/native) with the sanitizers of the compiler, ggml and our kernels
// included, and runs them. `npm test` does it too. Without OpenMP: the thread sanitizer does not see its barriers.

import { join } from 'node:path'
import { main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { LoggedBuild } from './lib/logged-build.mjs'
import { run } from './lib/run.mjs'
import { compilerEnv, generator, jobs, requireToolchain } from './lib/toolchain.mjs'
import { vendor } from './lib/vendor.mjs'

const KINDS = ['address,undefined', 'thread']

/** All kernels of a processor with AMX: its tiles, products of integers, F32. Another one has fewer, and runs those again. */
const AMX = {}
const INTEGERS = { H2O_AMX: '0' }
const F32 = { H2O_AMX: '0', H2O_INT8: '0', H2O_INT16: '0' }

/** Exact and sparse decoding. */
const DECODING = [
  ['test-h2o-decode-op', ['20'], [AMX, INTEGERS]],
  ['test-h2o-sparse-decode-op', ['1'], [F32]],
]

/**
 * Test, its arguments, and the kernels that its ops have. The first argument is how many random cases: sanitized code is
 * ten times slower. Numbers of rows have kernels of their own, which the address sanitizer sees all of, and races need not.
 */
const testsOf = (kind) => [
  ['test-h2o-fused-attn', ['40'], [AMX, INTEGERS, F32]],
  ['test-h2o-query-op', ['20'], [AMX, INTEGERS, F32]],
  ['test-h2o-linear-op', ['1', kind === 'thread' ? '5' : '1'], [AMX, F32]],
  ['test-h2o-experts-op', ['1'], [AMX]],
  ['test-h2o-select-op', ['500'], [F32]],
  ...(kind === 'thread' ? [] : DECODING),
]

await main(async () => {
  if (process.platform === 'win32') return console.log('sanitizers: skipped, not on Windows')
  requireToolchain()
  const paths = layout()
  vendor(paths, { say: (line) => console.error(line) })

  const env = compilerEnv()
  for (const kind of KINDS) {
    const out = join(paths.root, 'build-sanitize', kind.split(',')[0])
    const flags = `-fsanitize=${kind} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1`
    const defines = {
      CMAKE_BUILD_TYPE: 'None',
      CMAKE_C_FLAGS: flags,
      CMAKE_CXX_FLAGS: flags,
      GGML_OPENMP: 'OFF',
      GGML_LLAMAFILE: 'OFF', // not what is tested here, and long to compile
      GGML_CPU_REPACK: 'OFF',
      H2O_BUILD_ADDON: 'OFF',
      H2O_BUILD_TESTS: 'ON',
    }
    const cached = Object.entries(defines).map(([name, value]) => `-D${name}=${value}`)
    const build = new LoggedBuild(`sanitized tests (${kind})`, join(out, 'build.log'))
    await build.run('cmake', ['-S', paths.root, '-B', out, ...generator(out), ...cached], { env })
    await build.run('cmake', ['--build', out, '--parallel', jobs(), '--target', 'h2o-op-tests'], { env })
    build.done()
    for (const [test, args, kernels] of testsOf(kind)) {
      for (const kernel of kernels) run(join(out, 'test/native', test), args, { env: kernel })
    }
    console.log(`sanitizers (${kind}): clean`)
  }
})
