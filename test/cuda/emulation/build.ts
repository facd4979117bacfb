// Building the emulation with a host compiler and CUDA's headers, as it is or with one header of the kernels changed.

import { execFile, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findNvcc, GGML, includeOf, root, SOURCES } from '../nvcc.js'
import type { Mutation } from './mutations.js'

const EMULATION = root('test/cuda/emulation')
const CXX = 'g++'

const UNITS = readdirSync(EMULATION).filter((name) => name.endsWith('.cpp'))

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

/** One folder of objects and programs. */
export class Build {
  constructor(
    private readonly headers: string[],
    private readonly folder: string,
  ) {}

  /** -> the program */
  async unchanged(): Promise<string> {
    for (const unit of UNITS) {
      await this.compile(unit, SOURCES, [])
    }
    return this.link('emulation', (unit) => unit)
  }

  /** After unchanged, whose other objects it takes. -> the program */
  async mutated({ name, unit, header, from, to }: Mutation): Promise<string> {
    const ops = join(this.folder, `${name}-ops`)
    cpSync(join(SOURCES, '..'), ops, { recursive: true })

    const path = join(ops, 'cuda', header)
    const parts = readFileSync(path, 'utf8').split(from)
    if (parts.length !== 2) throw new Error(`${header} has "${from}" ${parts.length - 1} times, not once`)
    writeFileSync(path, parts.join(to))

    // one head size shows it as well as all of them, and compiles in less time
    await this.compile(unit, join(ops, 'cuda'), ['-DEMU_HEAD_SIZE=64'], `${name}-${unit}`)
    return this.link(name, (other) => (other === unit ? `${name}-${unit}` : other))
  }

  private async compile(unit: string, sources: string, flags: string[], object = unit): Promise<void> {
    await promisify(execFile)(CXX, [
      ...['-c', '-std=c++17', '-O2', '-fno-strict-aliasing', ...flags],
      ...['-Wall', '-Wextra', '-Wno-unknown-pragmas', '-Wno-unused-function'],
      ...['-I', join(EMULATION, 'shim'), '-I', sources, ...this.headers, '-I', join(GGML, 'include')],
      ...[join(EMULATION, unit), '-o', join(this.folder, `${object}.o`)],
    ])
  }

  private async link(program: string, objectOf: (unit: string) => string): Promise<string> {
    const path = join(this.folder, program)
    const objects = UNITS.map((unit) => join(this.folder, `${objectOf(unit)}.o`))
    await promisify(execFile)(CXX, [...objects, '-o', path])
    return path
  }
}

export function run(program: string, args: readonly (string | number)[]): Result {
  const { status, signal, stdout, stderr } = spawnSync(program, args.map(String), { encoding: 'utf8' })
  return { status: status ?? -1, output: `${stdout}${stderr}${signal ?? ''}` }
}
