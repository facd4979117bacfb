// Building what runs on the interpreter: the .cu files of the op as they are, or with one of their files changed, by
// nvcc to PTX for each chip, which stays in the program; the rest by the host compiler that nvcc calls.

import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { edit } from './edit.js'
import type { Mutation } from './mutations.js'
import { DEVICE_FLAGS, FOLDER, GGML, nvcc, root, run, SOURCES } from './nvcc.js'
import { FATTN_TYPES, thin, UPSTREAM } from './upstream.js'

export const CHIPS = [75, 80, 90] as const

const files = (folder: string, end: string) =>
  readdirSync(folder).flatMap((name) => (name.endsWith(end) ? [join(folder, name)] : []))

const KERNELS = files(SOURCES, '.cu')
const ISA = root('test/cuda/ptx/isa-test.cpp')
// the runtime first: kernels are registered where it has been constructed
const RUNTIME = root('bench/gpu/dry-run/cuda-runtime.cpp')
const PTX = [RUNTIME, ...files(root('test/cuda/ptx'), '.cpp').filter((path) => path !== ISA)]
const OPS = root('test/cuda/ops.cpp')
const BENCH = root('bench/gpu/op-bench.cpp')
const DEVICE = [root('bench/gpu/device-check.cpp'), root('bench/gpu/agreement.cpp')]
const MODEL = [root('bench/gpu/random-model.cpp'), root('test/native/random-gguf.cpp')]
/** Of ggml's backends. */
const REGISTRY = join(GGML, 'src/ggml-backend-reg.cpp')

/** As npm run build leaves them. */
const LIBRARIES = ['src/libllama', 'ggml/src/libggml', 'ggml/src/libggml-cpu', 'ggml/src/libggml-base'].map(
  (path) => root(`build/llama.cpp/${path}.a`),
)

const HOST_INCLUDES = [
  ...['h2o', 'h2o/method', 'h2o/memory', 'h2o/context', 'limits'].map((room) => root(`src/native/${room}`)),
  ...['ggml/include', 'ggml/src', 'ggml/src/ggml-cpu', 'include', 'src'].map((path) =>
    join(GGML, '..', path),
  ),
  ...[root('test/cuda/ptx'), root('test/native')],
].flatMap((include) => ['-I', include])
const HOST_FLAGS = ['-std=c++20', '-O3', '-Xcompiler', '-march=native', ...HOST_INCLUDES]

const kernelFlags = (chips: readonly number[]) => [
  ...['--no-compress', '-DGGML_CUDA_NO_VMM', '-Xcompiler', '-fPIC', ...DEVICE_FLAGS],
  ...['-I', SOURCES, '-I', join(GGML, 'src/ggml-cpu')],
  ...chips.flatMap((chip) => ['-gencode', `arch=compute_${chip},code=compute_${chip}`]),
]

const ccache = spawnSync('ccache', ['--version']).status === 0 ? ['ccache'] : []

async function call(...[program, ...args]: string[]) {
  const { status, output } = await run(program as string, args, { CCACHE_BASEDIR: root('.') })
  if (status !== 0) throw new Error(output)
}

const object = (path: string) => join(FOLDER, `${basename(path)}.o`)

const compile = (path: string, flags: string[], to = object(path)) =>
  call(...ccache, nvcc as string, '-c', ...flags, path, '-o', to)

/** ggml-cuda on the interpreter, and the CPU's backend. */
const ON_DEVICE = [...PTX, ...UPSTREAM, ...KERNELS, REGISTRY].map(object)

async function link(name: string, objects: string[]) {
  const program = join(FOLDER, name)
  // what is not compiled of ggml-cuda is looked for where it is called
  const missing = ['-Wl,--unresolved-symbols=ignore-all', '-Wl,-z,lazy', '-rdynamic', '-pthread']
  await call('g++', ...objects, ...LIBRARIES, ...missing, '-o', program)
  return program
}

/** All programs. */
export async function build() {
  const upstream = join(FOLDER, 'ggml-cuda')
  thin(join(GGML, 'src/ggml-cuda'), upstream)

  // what includes another of its files takes the copy
  const flags = ['-I', FOLDER, '-I', upstream, ...kernelFlags([80]), ...FATTN_TYPES]

  const jobs = [
    ...UPSTREAM.map((name) => () => compile(join(upstream, name), flags)),
    ...KERNELS.map((path) => () => compile(path, kernelFlags(CHIPS))),
    ...[...PTX, ISA, OPS, BENCH, ...DEVICE, ...MODEL].map((path) => () => compile(path, HOST_FLAGS)),
    () => compile(REGISTRY, [...HOST_FLAGS, '-DGGML_USE_CUDA', '-DGGML_USE_CPU']),
  ]
  const next = async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) await job()
  }
  await Promise.all([next(), next()]) // two compilers at once

  return {
    isa: await link('isa-test', [...PTX, ISA].map(object)),
    make: await link('random-model', MODEL.map(object)),
    ops: await link('cuda-ops', [...ON_DEVICE, object(OPS)]),
    device: await link('device-check', [...ON_DEVICE, ...DEVICE.map(object)]),
    bench: await link('op-bench', [...ON_DEVICE, object(BENCH)]),
  }
}

/** After build, whose other objects it takes; for one chip alone. -> the program that has to find it */
export async function mutated({ name, filter, chip, unit, file, edits }: Mutation) {
  const copy = join(FOLDER, `${name}-ops`)
  cpSync(join(SOURCES, '..'), copy, { recursive: true })
  for (const [from, to] of edits) edit(join(copy, 'cuda', file), from, () => to)
  // kernels of one head size compile in a fifth of the time
  const [, size] = /^(?:attn,.*= \w+ \w+|estimate,.*= \d+) (\d+) /.exec(filter) ?? []
  if (size)
    edit(join(copy, 'cuda/h2o-attn.cuh'), new RegExp(`^ *case +(?!${size}:)\\d+: f\\(.*\\n`, 'gm'), () => '')

  const changed = object(`${name}-${unit}`)
  await compile(join(copy, 'cuda', unit), kernelFlags([chip]), changed)
  const objects = ON_DEVICE.map((path) => (path === object(unit) ? changed : path))
  return link(name, [...objects, object(filter ? OPS : BENCH)])
}
