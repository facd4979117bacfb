#!/usr/bin/env node
// npm run build: vendor (if needed), the native addon through cmake-js, then TypeScript to dist/.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Failure, main } from './lib/fail.mjs'
import { layout } from './lib/layout.mjs'
import { runPackage } from './lib/run.mjs'
import { compilerEnv, jobs, requireToolchain } from './lib/toolchain.mjs'
import { vendor } from './lib/vendor.mjs'

const HELP = `usage: npm run build [-- options]

  --native        the native addon only
  --ts            TypeScript only
  --tests         the C++ tests as well (test/native)
  --tools         llama.cpp's tools with H2O as well, in build/bin (llama-completion, llama-perplexity, llama-bench)
  --cuda          with the CUDA backend (GGML_CUDA=ON); the build folder remembers it
  --cpu           without it again
  --if-missing    do nothing when both results are there
  -D KEY=VALUE    passed on to CMake
`

const RESULTS = ['build/Release/h2o_llama.node', 'dist/index.js']

function buildNative(paths, values) {
  requireToolchain()
  vendor(paths, { say: (line) => console.error(line) })

  const defines = [...(values.define ?? [])]
  if (values.cuda) defines.push('GGML_CUDA=ON')
  if (values.cpu) defines.push('GGML_CUDA=OFF')
  if (values.tests && existsSync(join(paths.root, 'test/native/CMakeLists.txt')))
    defines.push('H2O_BUILD_TESTS=ON')
  if (values.tools) defines.push('H2O_BUILD_TOOLS=ON')

  const cmakeJs = (command, ...args) =>
    runPackage('cmake-js', 'bin/cmake-js', [command, '--log-level', 'warn', ...args], { env: compilerEnv() })
  cmakeJs('configure', ...defines.map((define) => `--CD${define}`))
  const target = values.tests || values.tools ? [] : ['--target', 'h2o_llama']
  cmakeJs('build', '--parallel', jobs(), ...target)
}

function buildTypeScript() {
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
      cpu: { type: 'boolean', default: false },
      'if-missing': { type: 'boolean', default: false },
      define: { type: 'string', short: 'D', multiple: true },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  if (values.cuda && values.cpu) throw new Failure('--cuda and --cpu exclude each other.')

  const paths = layout()
  if (values['if-missing'] && RESULTS.every((file) => existsSync(join(paths.root, file)))) return
  if (!values.ts) buildNative(paths, values)
  if (!values.native) buildTypeScript()
})
