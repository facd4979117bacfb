// Building what runs on the interpreter: the .cu files of the op as they are, or with one of their files changed, by
// nvcc to PTX for each chip, which stays in the program; the rest by a host compiler.

import { execFile, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { deviceFlags, GGML, includeOf, root, SOURCES } from '../nvcc.js'
import type { Mutation } from './mutations.js'
import { FATTN_TYPES, thinned, UPSTREAM } from './upstream.js'

export const CHIPS = [80, 90] as const

const CASES = root('test/cuda/cases')
const INTERPRETER = root('test/cuda/ptx')
const GPU = root('bench/gpu')
const RUNTIME = join(GPU, 'dry-run/cuda-runtime.cpp')
const CXX = 'g++'

const files = (folder: string, end: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(end))
    .map((name) => join(folder, name))

const KERNELS = files(SOURCES, '.cu').map((path) => basename(path))
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

  /** -> the programs */
  async unchanged(): Promise<{ cases: string; isa: string }> {
    await Promise.all([
      ...KERNELS.map((unit) => this.kernels(join(SOURCES, unit), unit, CHIPS)),
      this.kernels(join(CASES, 'device.cu'), 'device.cu', CHIPS),
      ...files(CASES, '.cpp').map((path) => this.host(path, ['-std=c++17', '-O2', '-I', SOURCES])),
      ...[...PTX, join(INTERPRETER, 'isa-test.cpp')].map((path) =>
        this.host(path, ['-std=c++20', '-O3', '-march=native']),
      ),
    ])
    const isa = join(this.folder, 'isa-test')
    await compile(CXX, [...[...PTX, 'isa-test.cpp'].map((path) => this.object(basename(path))), '-o', isa])
    return { isa, cases: await this.link('cuda-cases', (unit) => unit) }
  }

  /** After unchanged, whose other objects it takes; for the first chip alone. -> the program */
  async mutated({ name, cases, unit, file, edits }: Mutation): Promise<string> {
    const ops = join(this.folder, `${name}-ops`)
    cpSync(join(SOURCES, '..'), ops, { recursive: true })
    const edit = (path: string, from: string | RegExp, to: string) => {
      const text = readFileSync(join(ops, 'cuda', path), 'utf8')
      const n = text.split(from).length - 1
      if (n === 0 || (typeof from === 'string' && n > 1)) throw new Error(`${path} has "${from}" ${n} times`)
      writeFileSync(
        join(ops, 'cuda', path),
        text.replace(from, () => to),
      )
    }
    for (const [from, to] of edits) edit(file, from, to)
    // kernels of one head size compile in a fifth of the time
    if (cases[0] === 'mma') edit('h2o-attn.cuh', /^ *case +(?!64:)\d+: f\(.*\n/gm, '')

    await this.kernels(join(ops, 'cuda', unit), `${name}-${unit}`, CHIPS.slice(0, 1))
    return this.link(name, (other) => (other === unit ? `${name}-${unit}` : other))
  }

  /** After unchanged. bench/gpu/device-check with ggml-cuda for it, and what makes its models. -> the programs */
  async model(): Promise<{ check: string; make: string }> {
    const pathOf = thinned(join(GGML, 'src/ggml-cuda'), join(this.folder, 'ggml-cuda'))

    const random = root('test/native/random-gguf.cpp')
    const rooms = ['method', 'memory', 'context', '../limits'].map((room) => root(`src/native/h2o/${room}`))
    const llama = ['include', 'src'].map((name) => join(GGML, '..', name))
    const includes = [root('test/native'), ...rooms, ...llama].flatMap((include) => ['-I', include])
    const host = (path: string, ...flags: string[]) =>
      this.host(path, ['-std=c++17', '-O2', ...includes, ...flags])
    await Promise.all([
      ...UPSTREAM.map((unit) => this.kernels(pathOf(unit), basename(unit), CHIPS.slice(0, 1), FATTN_TYPES)),
      ...['device-check.cpp', 'agreement.cpp', 'random-model.cpp'].map((name) => host(join(GPU, name))),
      host(random),
      host(join(GGML, 'src/ggml-backend-reg.cpp'), '-DGGML_USE_CUDA', '-DGGML_USE_CPU'),
    ])
    const objects = (units: string[]) => units.map((unit) => this.object(basename(unit)))

    const check = join(this.folder, 'device-check')
    await compile(CXX, [
      // the runtime first, as in link
      ...objects([
        ...PTX,
        ...KERNELS,
        ...UPSTREAM,
        'device-check.cpp',
        'agreement.cpp',
        'ggml-backend-reg.cpp',
      ]),
      ...[LLAMA, ...LIBRARIES],
      // what is not compiled of ggml-cuda is looked for where it is called
      ...['-Wl,--unresolved-symbols=ignore-all', '-Wl,-z,lazy', '-rdynamic', '-pthread', '-o', check],
    ])
    const make = join(this.folder, 'random-model')
    await compile(CXX, [...objects(['random-model.cpp', random]), LIBRARIES[2] as string, '-o', make])
    return { check, make }
  }

  private object(unit: string): string {
    return join(this.folder, `${unit}.o`)
  }

  private async kernels(
    path: string,
    unit: string,
    chips: readonly number[],
    flags: readonly string[] = [],
  ): Promise<void> {
    const includes = [CASES, INTERPRETER, SOURCES, join(GGML, 'src/ggml-cpu')]
    const targets = chips.flatMap((chip) => ['-gencode', `arch=compute_${chip},code=compute_${chip}`])
    await compile(this.nvcc, [
      ...[
        '-c',
        '--no-compress',
        '-DGGML_CUDA_NO_VMM',
        '-Xcompiler',
        '-fPIC',
        ...targets,
        ...deviceFlags(this.nvcc),
      ],
      ...flags,
      ...includes.filter((include) => include !== path && existsSync(include)).flatMap((i) => ['-I', i]),
      ...[path, '-o', this.object(unit)],
    ])
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

  private async link(program: string, objectOf: (unit: string) => string): Promise<string> {
    const path = join(this.folder, program)
    // the runtime first: kernels are registered where it has been constructed
    const units = [
      ...[...PTX, ...files(CASES, '.cpp')].map((name) => basename(name)),
      'device.cu',
      ...KERNELS,
    ]
    const objects = units.map((unit) => this.object(objectOf(unit)))
    await compile(CXX, [...objects, ...LIBRARIES, '-fopenmp', '-o', path])
    return path
  }
}

export interface Result {
  status: number
  output: string
}

export async function run(
  program: string,
  args: readonly (string | number)[] = [],
  variables: Record<string, string> = {},
): Promise<Result> {
  // what the CPU computes is in F32, as what it is compared with
  const env = { ...process.env, H2O_AMX: '0', H2O_INT8: '0', H2O_INT16: '0', ...variables }
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args.map(String), {
      env,
      maxBuffer: 1 << 26,
    })
    return { status: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr, signal } = error as {
      code?: number
      stdout: string
      stderr: string
      signal?: string
    }
    return { status: code ?? -1, output: `${stdout}${stderr}${signal ?? ''}` }
  }
}
