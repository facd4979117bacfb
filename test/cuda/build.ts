// Building what runs on the interpreter: the .cu files of the op as they are, or with one of their files changed, by
// nvcc to PTX for each chip, which stays in the program; the rest by a host compiler.

import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import type { Mutation } from './mutations.js'
import { deviceFlags, GGML, includeOf, root, SOURCES } from './nvcc.js'
import { FATTN_TYPES, thinned, UPSTREAM } from './upstream.js'

export const CHIPS = [75, 80, 90] as const

const CUDA = root('test/cuda')
const INTERPRETER = root('test/cuda/ptx')
const GPU = root('bench/gpu')
const RUNTIME = join(GPU, 'dry-run/cuda-runtime.cpp')
const CXX = 'g++'

const files = (folder: string, end: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(end))
    .map((name) => join(folder, name))

const KERNELS = files(SOURCES, '.cu').map((path) => basename(path))
const BENCH = ['device-check.cpp', 'agreement.cpp', 'op-bench.cpp', 'random-model.cpp']
const PTX = [...files(INTERPRETER, '.cpp').filter((path) => !path.endsWith('-test.cpp')), RUNTIME]

/** As npm run build leaves them. */
const LIBRARIES = ['libggml.a', 'libggml-cpu.a', 'libggml-base.a'].map((name) =>
  root(`build/llama.cpp/ggml/src/${name}`),
)
const LLAMA = root('build/llama.cpp/src/libllama.a')

const ccache = spawnSync('ccache', ['--version']).status === 0 ? ['ccache'] : []

/** At most two compilers at once, whoever asks. */
let running = 0
const waiting: (() => void)[] = []

async function compile(command: string, args: string[]): Promise<void> {
  while (running >= 2) await new Promise<void>((resolve) => waiting.push(resolve))
  running++
  try {
    const [program, ...rest] = [...ccache, command, ...args] as [string, ...string[]]
    await promisify(execFile)(program, rest, { env: { ...process.env, CCACHE_BASEDIR: root('.') } })
  } finally {
    running--
    waiting.shift()?.()
  }
}

/** One folder of objects and programs. */
export class Build {
  constructor(
    private readonly nvcc: string,
    private readonly folder: string,
  ) {
    mkdirSync(folder, { recursive: true })
  }

  /** All programs. */
  async unchanged() {
    const pathOf = thinned(join(GGML, 'src/ggml-cuda'), join(this.folder, 'ggml-cuda'))
    const random = root('test/native/random-gguf.cpp')
    const rooms = ['method', 'memory', 'context', '../limits'].map((room) => root(`src/native/h2o/${room}`))
    const llama = ['include', 'src'].map((name) => join(GGML, '..', name))
    const includes = [root('test/native'), ...rooms, ...llama].flatMap((include) => ['-I', include])

    await Promise.all([
      ...KERNELS.map((unit) => this.kernels(join(SOURCES, unit), unit, CHIPS)),
      ...UPSTREAM.map((unit) => this.kernels(pathOf(unit), basename(unit), [80], FATTN_TYPES)),
      ...[...PTX, join(INTERPRETER, 'isa-test.cpp')].map((path) =>
        this.host(path, ['-std=c++20', '-O3', '-march=native']),
      ),
      ...[join(CUDA, 'ops.cpp'), random, ...BENCH.map((name) => join(GPU, name))].map((path) =>
        this.host(path, ['-std=c++17', '-O2', ...includes]),
      ),
      this.host(join(GGML, 'src/ggml-backend-reg.cpp'), ['-DGGML_USE_CUDA', '-DGGML_USE_CPU']),
    ])
    const [isa, make, ops, device, bench] = await Promise.all([
      this.link('isa-test', ['isa-test.cpp', ...PTX], []),
      this.link('random-model', ['random-model.cpp', random], LIBRARIES.slice(-1)),
      this.onDevice('cuda-ops', ['ops.cpp']),
      this.onDevice('device-check', ['device-check.cpp', 'agreement.cpp'], [LLAMA]),
      this.onDevice('op-bench', ['op-bench.cpp']),
    ])
    return { isa, make, ops, device, bench }
  }

  /** After unchanged, whose other objects it takes; for one chip alone. -> cuda-ops */
  async mutated({ name, filter, unit, file, edits }: Mutation): Promise<string> {
    const ops = join(this.folder, `${name}-ops`)
    cpSync(join(SOURCES, '..'), ops, { recursive: true })
    const edit = (path: string, from: string | RegExp, to: string) => {
      const copy = join(ops, 'cuda', path)
      const text = readFileSync(copy, 'utf8')
      const n = text.split(from).length - 1
      if (n === 0 || (typeof from === 'string' && n > 1)) throw new Error(`${path} has "${from}" ${n} times`)
      const edited = text.replace(from, () => to)
      writeFileSync(copy, edited)
    }
    for (const [from, to] of edits) edit(file, from, to)
    // kernels of one head size compile in a fifth of the time
    const [, size] = /^attn,.*= \w+ \w+ (\d+) /.exec(filter) ?? []
    if (size) edit('h2o-attn.cuh', new RegExp(`^ *case +(?!${size}:)\\d+: f\\(.*\\n`, 'gm'), '')

    const changed = `${name}-${unit}`
    await this.kernels(join(ops, 'cuda', unit), changed, [80])
    return this.onDevice(name, ['ops.cpp'], [], (other) => (other === unit ? changed : other))
  }

  private object(unit: string): string {
    return join(this.folder, `${unit}.o`)
  }

  private async kernels(path: string, unit: string, chips: readonly number[], flags: readonly string[] = []) {
    const targets = chips.flatMap((chip) => ['-gencode', `arch=compute_${chip},code=compute_${chip}`])
    const own = ['-c', '--no-compress', '-DGGML_CUDA_NO_VMM', '-Xcompiler', '-fPIC', ...targets, ...flags]
    const includes = ['-I', SOURCES, '-I', join(GGML, 'src/ggml-cpu')]
    await compile(this.nvcc, [...own, ...deviceFlags(this.nvcc), ...includes, path, '-o', this.object(unit)])
  }

  private async host(path: string, flags: string[]): Promise<void> {
    const cuda = includeOf(this.nvcc)
    const includes = ['include', 'src', 'src/ggml-cpu'].map((name) => join(GGML, name))
    await compile(CXX, [
      ...['-c', '-Wall', '-Wextra', ...flags, '-I', INTERPRETER, '-I', root('src/native/h2o')],
      ...[...includes, ...(cuda ? [cuda] : [])].flatMap((include) => ['-I', include]),
      ...[path, '-o', this.object(basename(path))],
    ])
  }

  /** With ggml-cuda, the interpreter and the CPU's backend. -> the program */
  private onDevice(
    program: string,
    own: string[],
    libraries: string[] = [],
    objectOf = (unit: string) => unit,
  ) {
    // the runtime first: kernels are registered where it has been constructed
    const units = [...PTX, ...KERNELS.map(objectOf), ...UPSTREAM, 'ggml-backend-reg.cpp', ...own]
    // what is not compiled of ggml-cuda is looked for where it is called
    const missing = ['-Wl,--unresolved-symbols=ignore-all', '-Wl,-z,lazy', '-rdynamic', '-pthread']
    return this.link(program, units, [...libraries, ...LIBRARIES, ...missing])
  }

  private async link(program: string, units: string[], flags: string[]): Promise<string> {
    const path = join(this.folder, program)
    await compile(CXX, [...units.map((unit) => this.object(basename(unit))), ...flags, '-o', path])
    return path
  }
}

export function run(
  program: string,
  args: readonly (string | number)[] = [],
  variables: Record<string, string> = {},
): Promise<{ status: number; output: string }> {
  // what the CPU computes is in F32, as what it is compared with
  const env = { ...process.env, H2O_AMX: '0', H2O_INT8: '0', H2O_INT16: '0', ...variables }
  const options = { env, maxBuffer: 1 << 26 }
  return new Promise((resolve) => {
    execFile(program, args.map(String), options, (error, stdout, stderr) =>
      resolve({
        status: error ? Number(error.code ?? -1) : 0,
        output: `${stdout}${stderr}${error?.signal ?? ''}`,
      }),
    )
  })
}
