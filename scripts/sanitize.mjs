#!/usr/bin/env node
// npm run sanitize: builds the op tests (test/native) with the sanitizers of the compiler, ggml and our kernels
// included, and runs them; then without one for the kernels of AVX-512 and AMX, whose instructions are functions there.
// `npm run test:part kernels` does it too. Without OpenMP: the thread sanitizer does not see its barriers.

import { execFile, execSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Failure, main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { LoggedBuild } from './lib/logged-build.mjs'
import { compilerEnv, generator, jobs, requireToolchain } from './lib/toolchain.mjs'
import { vendor } from './lib/vendor.mjs'

const HASWELL = ['SSE42', 'AVX', 'AVX2', 'FMA', 'F16C', 'BMI2'].map((has) => [`GGML_${has}`, 'ON'])

const sanitized = (kinds) => `-fsanitize=${kinds} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1`

/** Folder, flags, what else CMake is told. */
const BUILDS = [
  ['address', sanitized('address,undefined'), {}],
  ['thread', sanitized('thread'), {}],
  ['avx512', '-O2 -g1', { H2O_SOFTWARE_AVX512: 'ON', GGML_NATIVE: 'OFF', ...Object.fromEntries(HASWELL) }],
]

/** All kernels of a processor with AMX: its tiles, products of integers, F32. */
const AMX = {}
const INTEGERS = { H2O_AMX: '0' }
const F32 = { H2O_AMX: '0', H2O_INT8: '0', H2O_INT16: '0' }

/** Those of this build, on this processor: without AMX the first are the second. */
function different(kernels, build) {
  const hasAmx = build === 'avx512' || /\bamx_tile\b/.test(readCpuInfo())
  return hasAmx || !kernels.includes(INTEGERS) ? kernels : kernels.filter((one) => one !== AMX)
}

const readCpuInfo = () => (existsSync('/proc/cpuinfo') ? readFileSync('/proc/cpuinfo', 'utf8') : '')

/** Exact and sparse decoding. */
const DECODING = [
  ['decode-op', ['20'], [AMX, INTEGERS]],
  ['sparse-decode-op', ['1'], [F32]],
]

/**
 * Suite, its arguments, and the kernels that its ops have; the longest first. The first argument is how many random cases:
 * sanitized code is ten times slower. Numbers of rows have kernels of their own, which the address sanitizer sees all of, and
 * races need not.
 */
const testsOf = (build) => [
  ['linear-op', ['1', build === 'address' ? '1' : '5'], [AMX, build === 'avx512' ? INTEGERS : F32]],
  ['fused-attn', ['40'], [AMX, INTEGERS, F32]],
  ['query-op', ['20'], [AMX, INTEGERS, F32]],
  ['experts-op', ['1'], [AMX]],
  ['select-op', ['500'], [F32]],
  ...(build === 'thread' ? [] : DECODING),
]

/** As many at a time as there are processors. Behind one that fails none begins. */
async function sideBySide(items, run) {
  const rest = [...items]
  const lane = async () => {
    for (let item = rest.shift(); item; item = rest.shift()) {
      await run(item).catch((error) => {
        rest.length = 0
        throw error
      })
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, lane))
}

/** What a program prints is shown if it fails. */
async function sanitizedRun(build, program, [suite, ...args], kernel) {
  const start = performance.now()
  const what = [suite, ...Object.entries(kernel).map(([key, value]) => `${key}=${value}`)].join(' ')
  try {
    await promisify(execFile)(program, [suite, ...args], {
      env: { ...process.env, ...kernel },
      maxBuffer: 1 << 28,
    })
  } catch (error) {
    throw new Failure(`op test ${build}: ${what} failed:\n${error.stdout}${error.stderr}`)
  }
  console.log(`op test ${build}: ${what}: clean, ${((performance.now() - start) / 1000).toFixed(1)} s`)
}

/** Whose own headers test/native/ops/software-avx512.h leaves out. */
function hasGccForX64() {
  const isX64 = process.platform === 'linux' && process.arch === 'x64'
  return (
    isX64 && execSync(`${process.env.CXX ?? 'c++'} --version`, { encoding: 'utf8' }).includes('Free Software')
  )
}

await main(async () => {
  if (process.platform === 'win32') return console.log('sanitizers: skipped, not on Windows')
  requireToolchain()
  const paths = layout()
  vendor(paths, { say: (line) => console.error(line) })

  const env = compilerEnv()
  for (const [name, flags, more] of BUILDS) {
    if (name === 'avx512' && !hasGccForX64()) {
      console.log(`op tests (${name}): skipped, which takes GCC on Linux x64`)
      continue
    }
    const out = join(paths.root, 'build-sanitize', name)
    const defines = {
      CMAKE_BUILD_TYPE: 'None',
      CMAKE_C_FLAGS: flags,
      CMAKE_CXX_FLAGS: flags,
      GGML_OPENMP: 'OFF',
      GGML_LLAMAFILE: 'OFF', // not what is tested here, and long to compile
      GGML_CPU_REPACK: 'OFF',
      H2O_BUILD_ADDON: 'OFF',
      H2O_BUILD_TESTS: 'ON',
      ...more,
    }
    const cached = Object.entries(defines).map(([key, value]) => `-D${key}=${value}`)
    const build = new LoggedBuild(`op tests (${name})`, join(out, 'build.log'))
    await build.run('cmake', ['-S', paths.root, '-B', out, ...generator(out), ...cached], { env })
    await build.run('cmake', ['--build', out, '--parallel', jobs(), '--target', 'h2o-op-tests'], { env })
    build.done()
    const runs = testsOf(name).flatMap(([suite, args, kernels]) =>
      different(kernels, name).map((kernel) => ({ suite, args, kernel })),
    )
    await sideBySide(runs, ({ suite, args, kernel }) =>
      sanitizedRun(name, join(out, 'test/native/h2o-op-tests'), [suite, ...args], kernel),
    )
  }
})
