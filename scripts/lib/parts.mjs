// The parts of the tests: what each builds, what it runs, which paths force it.
//
// `npm test` runs core: what nearly every change needs. `npm run test:part NAME` runs another, `npm run test:all` all of
// them. `.ci/run` runs core, the parts that a change forces, and one more in turn.
//
// A test file is in the part whose `tests` name it or its folder, else in core. A case of another part in a file of core has
// its name as a tag; in files of other parts tags mean nothing.

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string} holds what its tests hold
 * @property {number} minutes on two cores without ccache, once core is built
 * @property {{ run: string, onlyFor?: string }[]} builds scripts that make what it runs, some for one folder or file
 * @property {string[]} tests folders and files
 * @property {string} [ctest] label of its C++ tests
 * @property {boolean} [sanitized] the op tests under sanitizers belong to it
 * @property {number} [caseSeconds] a case may take so long that names no other time; 20 without
 * @property {string[]} wants optional programs and models (optional-programs.mjs)
 * @property {string[]} forcedBy how paths begin whose change forces it
 */

/** @type {Part[]} */
export const PARTS = [
  {
    name: 'core',
    holds: 'addon, ops, library, command line, server, patches, documents',
    minutes: 0,
    builds: [{ run: 'build.mjs --tests' }],
    ctest: 'core',
    tests: [],
    forcedBy: [],
    wants: ['chromium', 'nginx', 'ninja', 'python3', 'redis-server', 'smollm2-135m'],
  },
  {
    name: 'kernels',
    holds: "the op tests under sanitizers and for AVX-512 and AMX in software, llama.cpp's test-backend-ops",
    minutes: 13,
    builds: [{ run: 'build.mjs --native --tests --backend-ops' }],
    ctest: 'kernels',
    sanitized: true,
    tests: [],
    wants: [],
    forcedBy: [
      'bench/gpu/op-bench',
      'cmake/backend-ops',
      'patches/mends/amx',
      'patches/method/ggml-op',
      'patches/method/test-backend-ops',
      'scripts/sanitize',
      'src/native/h2o/ops/cpu/',
      'src/native/h2o/ops/ggml-h2o',
      'src/native/h2o/tests/',
      'test/native/ops/',
      'vendor/',
    ],
  },
  {
    name: 'stock',
    holds:
      "logits of unpatched llama.cpp and of a second oracle, architectures, llama.cpp's tools with H2O, RPC",
    minutes: 9,
    builds: [
      { run: 'build.mjs' },
      { run: 'build.mjs --native --tools', onlyFor: 'test/tools' },
      { run: 'build-stock.mjs' },
      { run: 'build-rpc.mjs', onlyFor: 'test/addon/model/rpc.test.ts' },
    ],
    tests: [
      'test/addon/model/rpc.test.ts',
      'test/architectures',
      'test/oracle',
      'test/parity',
      'test/patches/amx-tile-config.test.ts',
      'test/tools',
    ],
    caseSeconds: 60,
    wants: ['gguf'],
    forcedBy: [
      'cmake/rpc',
      'cmake/tools',
      'cmake/upstream',
      'patches/limits/',
      'patches/mends/',
      'patches/method/',
      'patches/series',
      'scripts/build-rpc',
      'scripts/build-stock',
      'src/native/addon/model-check/',
      'src/native/addon/model/adapters',
      'src/native/addon/model/rpc',
      'src/native/h2o/cmake/',
      'src/native/h2o/context/',
      'src/native/h2o/h2o',
      'src/native/h2o/memory/',
      'src/native/h2o/method/',
      'src/native/h2o/tools/',
      'src/ts/cli/bench/',
      'src/ts/cli/commands/bench',
      'src/ts/cli/commands/parity',
      'src/ts/cli/parity/',
      'src/ts/cli/saved-logits/',
      'src/ts/model-maker/architectures',
      'vendor/',
    ],
  },
  {
    name: 'package',
    holds:
      'the package as npm installs it, prebuilds on other processors under qemu, other versions of Node, Clang, bundlers',
    minutes: 16,
    builds: [{ run: 'build.mjs' }],
    tests: ['test/package'],
    caseSeconds: 120,
    wants: ['clang', 'g++-aarch64-linux-gnu', 'qemu'],
    forcedBy: [
      'CMakeLists.txt',
      'bin/',
      'binary.cjs',
      'binding.gyp',
      'cmake/',
      'package',
      'scripts/build.mjs',
      'scripts/build-page',
      'scripts/lib/cmake-cache',
      'scripts/lib/logged-build',
      'scripts/lib/platforms',
      'scripts/lib/symbol-versions',
      'scripts/lib/toolchain',
      'scripts/prebuilds',
      'src/native/h2o/cmake/',
      'src/ts/index',
      'src/ts/native/',
    ],
  },
  {
    name: 'cuda',
    holds: 'the CUDA kernels, compiled by nvcc and run by an interpreter of PTX',
    minutes: 10,
    builds: [{ run: 'build.mjs' }],
    tests: ['test/cuda'],
    caseSeconds: 600,
    wants: ['nvcc'],
    forcedBy: [
      'bench/gpu/',
      'patches/method/ggml-cuda',
      'src/native/h2o/ops/cuda/',
      'src/native/h2o/ops/ggml-h2o',
      'src/native/h2o/tests/',
    ],
  },
  {
    name: 'hostile',
    holds: 'mutants of models, states and calls, hostile input, slow clients',
    minutes: 3,
    builds: [{ run: 'build.mjs' }],
    tests: ['test/fuzz/fuzz.test.ts', 'test/limits/grammar-bounds.test.ts', 'test/server/load.test.ts'],
    caseSeconds: 120,
    wants: [],
    forcedBy: [
      'patches/limits/',
      'src/native/addon/',
      'src/native/h2o/memory/',
      'src/native/limits/',
      'src/ts/cli/serve/',
      'src/ts/server/',
      'test/fuzz/',
      'test/limits/',
      'vendor/',
    ],
  },
  {
    name: 'quality',
    holds: 'answers and perplexity of the recall model and of SmolLM2, the demo',
    minutes: 3,
    builds: [{ run: 'build.mjs' }],
    tests: ['test/demo', 'test/language/gate.test.ts', 'test/model', 'test/quality/gate.test.ts'],
    caseSeconds: 300,
    wants: ['gguf', 'python3', 'smollm2-135m', 'torch'],
    forcedBy: [
      'bench/language/',
      'bench/quality/',
      'model/',
      'scripts/demo',
      'src/native/h2o/context/h2o-params',
      'src/native/h2o/method/h2o-polic',
      'src/native/h2o/ops/cpu/',
      'test/language/',
      'test/quality/',
    ],
  },
  {
    name: 'ways',
    holds: 'the policy votes, the two-pass schedule, attention as a graph of stock ops',
    minutes: 4,
    builds: [{ run: 'build.mjs' }, { run: 'build.mjs --native --tests', onlyFor: 'test/native' }],
    ctest: 'ways',
    tests: [
      'test/engine/method.test.ts',
      'test/engine/properties.test.ts',
      'test/engine/two-pass.test.ts',
      'test/reference/method/hot-text.test.ts',
      'test/reference/method/replay.test.ts',
      'test/reference/method/two-pass.test.ts',
    ],
    caseSeconds: 60,
    wants: [],
    forcedBy: [
      'patches/method/',
      'src/native/h2o/',
      'test/engine/',
      'test/native/',
      'test/reference/',
      'vendor/',
    ],
  },
]

export const CORE = PARTS[0]
export const OTHERS = PARTS.slice(1)

/** Files of core that need no built addon and leave no trace: they share a process. */
export const UNIT = [
  'test/cli/bench/bench-report.test.ts',
  'test/cli/compare/compare-plan.test.ts',
  'test/cli/compare/compare-statistics.test.ts',
  'test/cli/flags/argv.test.ts',
  'test/cli/flags/flags.test.ts',
  'test/cli/inspect/inspect-figures.test.ts',
  'test/cli/program.test.ts',
  'test/cli/run/prompt.test.ts',
  'test/cli/run/render.test.ts',
  'test/cli/shell/output-file.test.ts',
  'test/language/journal.test.ts',
  'test/model-maker',
  'test/patches/series.test.ts',
  'test/quality/front.test.ts',
  'test/quality/settings.test.ts',
  'test/reference/method/query-estimates.test.ts',
  'test/reference/method/query.test.ts',
  'test/reference/method/selection.test.ts',
  'test/release/names.test.ts',
  'test/server/dense-tail.test.ts',
  'test/server/last-index.test.ts',
  'test/ts/base/decode-in-turns.test.ts',
  'test/ts/base/utf8-stream.test.ts',
  'test/ts/handle/operation-queue.test.ts',
  'test/ts/handle/scheduler.test.ts',
]

export const isBelow = (path, entry) => path === entry || path.startsWith(`${entry}/`)

/** The part of a test file; its cases may have tags of others. */
export const partOf = (path) =>
  OTHERS.find(({ tests }) => tests.some((entry) => isBelow(path, entry))) ?? CORE

/** Does a change of this path force the part? Tests force their own. Documents force nothing: core has their tests. */
export const forces = (path, { tests, forcedBy }) =>
  !path.endsWith('.md') &&
  (tests.some((entry) => isBelow(path, entry)) || forcedBy.some((beginning) => path.startsWith(beginning)))

/** As Vitest takes them. */
export const globs = (entries) =>
  entries.map((entry) => (entry.endsWith('.ts') ? entry : `${entry}/**/*.test.ts`))
