// Building the emulation with a host compiler and CUDA's headers: the .cu files of the op as they are, or with one of
// their files changed.

import { execFile, spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findNvcc, GGML, includeOf, root, SOURCES } from '../nvcc.js'
import type { Mutation } from './mutations.js'

const EMULATION = root('test/cuda/emulation')
const CXX = 'g++'

const CUDA_UNITS = readdirSync(SOURCES).filter((name) => name.endsWith('.cu'))
const UNITS = [
  ...readdirSync(EMULATION).filter((name) => name.endsWith('.cpp')),
  ...CUDA_UNITS,
  'agreement.cpp',
  'random-gguf.cpp',
  'tiny-model.cpp',
]

const INCLUDES = [
  'bench/gpu',
  'test/native',
  'src/native/h2o',
  ...['include', 'src'].map((folder) => `vendor/llama.cpp/${folder}`),
]
  .map(root)
  .concat(['include', 'src', 'src/ggml-cpu'].map((folder) => join(GGML, folder)))

/** As npm run build leaves them. */
const LIBRARIES = [
  'src/libllama.a',
  'ggml/src/libggml.a',
  'ggml/src/libggml-cpu.a',
  'ggml/src/libggml-base.a',
].map((path) => root(`build/llama.cpp/${path}`))

// what the emulation needs and not every toolkit, or system, has for the host
const PROBE = `
#include <cuda_fp16.h>
#include <link.h>
#include <ucontext.h>
float value(unsigned short bits) { return __half2float(__ushort_as_half(bits)); }
`

/** The flags under which the compiler finds CUDA's headers, or null. */
export function findHeaders(): string[] | null {
  const nvcc = findNvcc()
  const places = [
    nvcc && includeOf(nvcc),
    ...[process.env.CUDA_PATH, process.env.CUDA_HOME, '/usr/local/cuda'].map(
      (home) => home && `${home}/include`,
    ),
  ].filter((place) => typeof place === 'string' && place !== '')

  const flags = [...places.map((place) => ['-I', place as string]), []]
  const probe = ['-std=c++17', '-fsyntax-only', '-x', 'c++', '-']
  return flags.find((flag) => spawnSync(CXX, [...flag, ...probe], { input: PROBE }).status === 0) ?? null
}

export interface Result {
  status: number
  output: string
}

/** kernel<<<grid, block, shared, stream>>>(args); is all that a host compiler cannot read. */
function withoutLaunches(source: string): string {
  return source.replace(
    /(\w+(?:<[\w, ]+>)?)<<<(.*?)>>>\((.*?)\);/gs,
    (_, kernel, how, args) => `emu_launch((const void *) &${kernel}, ${how}, [&] { ${kernel}(${args}); });`,
  )
}

/** One folder of objects and programs. */
export class Build {
  constructor(
    private readonly headers: string[],
    private readonly folder: string,
  ) {}

  /** -> the program */
  async unchanged(): Promise<string> {
    const ops = this.copyOps('unchanged')
    for (const unit of UNITS) await this.compile(unit, ops, unit)
    return this.link('emulation', (unit) => unit)
  }

  /** After unchanged, whose other objects it takes. -> the program */
  async mutated({ name, unit, file, from, to }: Mutation): Promise<string> {
    const ops = this.copyOps(name)
    const path = join(ops, 'cuda', file)
    const parts = readFileSync(path, 'utf8').split(from)
    if (parts.length !== 2) throw new Error(`${file} has "${from}" ${parts.length - 1} times, not once`)
    writeFileSync(path, parts.join(to))

    await this.compile(unit, ops, `${name}-${unit}`)
    return this.link(name, (other) => (other === unit ? `${name}-${unit}` : other))
  }

  /** src/native/h2o/ops, readable for a host compiler. -> the folder */
  private copyOps(name: string): string {
    const ops = join(this.folder, `${name}-ops`)
    cpSync(join(SOURCES, '..'), ops, { recursive: true })
    for (const unit of CUDA_UNITS) {
      const path = join(ops, 'cuda', unit)
      writeFileSync(path, withoutLaunches(readFileSync(path, 'utf8')))
    }
    return ops
  }

  private async compile(unit: string, ops: string, object: string): Promise<void> {
    const places = [join(ops, 'cuda'), EMULATION, root('bench/gpu'), root('test/native')]
    const path = places.map((place) => join(place, unit)).find(existsSync) as string
    await promisify(execFile)(CXX, [
      // shared arrays are declared extern within functions, and need no initialization
      ...['-c', '-std=c++17', '-O2', '-fno-strict-aliasing', '-fno-extern-tls-init'],
      // a device does not forgive a vector that is not aligned; with a trap, no runtime is needed
      ...['-fsanitize=alignment', '-fsanitize-undefined-trap-on-error'],
      ...['-Wall', '-Wextra', '-Wno-unknown-pragmas', '-Wno-unused-function'],
      ...['-I', join(EMULATION, 'shim'), '-I', join(ops, 'cuda'), ...this.headers],
      ...INCLUDES.flatMap((include) => ['-I', include]),
      ...['-x', 'c++', path, '-o', join(this.folder, `${object}.o`)],
    ])
  }

  private async link(program: string, objectOf: (unit: string) => string): Promise<string> {
    const path = join(this.folder, program)
    const objects = UNITS.map((unit) => join(this.folder, `${objectOf(unit)}.o`))
    await promisify(execFile)(CXX, [...objects, ...LIBRARIES, '-fopenmp', '-o', path])
    return path
  }
}

export function run(program: string, args: readonly (string | number)[]): Result {
  // what the CPU computes is in F32, as what it is compared with
  const env = { ...process.env, H2O_AMX: '0', H2O_INT8: '0', H2O_INT16: '0' }
  const { status, signal, stdout, stderr } = spawnSync(program, args.map(String), { encoding: 'utf8', env })
  return { status: status ?? -1, output: `${stdout}${stderr}${signal ?? ''}` }
}
