// Compiling one .cu file for several architectures, with the flags of ggml-cuda's CMakeLists.txt, and reading what
// ptxas reports of its kernels.

import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

export const SOURCES = root('src/native/h2o/ops/cuda')
export const GGML = root('vendor/llama.cpp/ggml')

export interface Kernel {
  /** With its template argument: h2o_attn_mma<128>. */
  name: string
  base: string
  arch: number
  registers: number
  shared: number
  spilled: number
}

/** The compiler to use, or null. */
export function findNvcc(): string | null {
  const places = [process.env.CUDACXX, 'nvcc', '/usr/local/cuda/bin/nvcc'].filter(
    (place) => place !== undefined,
  )
  return places.find((place) => spawnSync(place, ['--version'], { stdio: 'ignore' }).status === 0) ?? null
}

/** Where the compiler takes CUDA's own headers from; null if it needs no folder for that, or does not say. */
export function includeOf(nvcc: string): string | null {
  const { stderr } = spawnSync(nvcc, ['--dryrun', '-E', '-x', 'cu', '-'], { input: '', encoding: 'utf8' })
  return /^#\$ INCLUDES="-I(.+?)"/m.exec(stderr)?.[1] ?? null
}

let cublas: boolean | undefined

function hasCublas(nvcc: string): boolean {
  const source = '#include <cublas_v2.h>\n'
  cublas ??= spawnSync(nvcc, ['-E', '-x', 'cu', '-', '-o', '/dev/null'], { input: source }).status === 0
  return cublas
}

/** As ggml-cuda's CMakeLists.txt compiles device code. */
export function deviceFlags(nvcc: string): string[] {
  const includes = [join(GGML, 'include'), join(GGML, 'src'), join(GGML, 'src/ggml-cuda')]
  if (!hasCublas(nvcc)) includes.push(root('test/cuda/stub'))
  return [
    ...['-std=c++17', '-O3', '-DNDEBUG', '-use_fast_math', '-extended-lambda', '-DGGML_CUDA_USE_GRAPHS'],
    ...includes.flatMap((include) => ['-I', include]),
  ]
}

/** Compiles and returns the compiler's whole report. */
export async function compile(nvcc: string, file: string, archs: readonly number[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'h2o-cuda-'))
  try {
    const { stdout, stderr } = await promisify(execFile)(
      nvcc,
      [
        ...['-c', ...deviceFlags(nvcc), '-Xptxas', '-v', '-Xcompiler', '-Wall,-Wextra,-Wno-unused-function'],
        ...archs.flatMap((arch) => ['-gencode', `arch=compute_${arch},code=sm_${arch}`]),
        ...[join(SOURCES, file), '-o', join(folder, 'out.o')],
      ],
      { maxBuffer: 1 << 26 },
    )
    return stdout + stderr
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * `_Z12h2o_attn_mmaILi128EEv13h2o_attn_args` -> h2o_attn_mma and 128;
 * `_Z18h2o_query_key_mostI15h2o_product_mmaILi128ELi64EEEv14h2o_query_args` -> h2o_query_key_most and mma 128.
 */
function demangle(symbol: string): { base: string; argument: string | undefined } {
  const [head, length] = /^_Z(\d+)/.exec(symbol) ?? []
  if (head === undefined) throw new Error(`not a kernel of ours: ${symbol}`)
  const base = symbol.slice(head.length, head.length + Number(length))
  const [, product, size] =
    /^I(?:\d+h2o_product_([a-z0-9]+)I)?Li(\d+)E/.exec(symbol.slice(head.length + base.length)) ?? []
  return { base, argument: product ? `${product} ${size}` : size }
}

export function parseReport(report: string): Kernel[] {
  const kernels: Kernel[] = []
  for (const part of report.split(/Compiling entry function /).slice(1)) {
    const [, symbol = '', arch] = /^'(\w+)' for 'sm_(\d+)/.exec(part) ?? []
    const number = (what: RegExp) => Number(what.exec(part)?.[1] ?? 0)
    const { base, argument } = demangle(symbol)
    kernels.push({
      name: argument === undefined ? base : `${base}<${argument}>`,
      base,
      arch: Number(arch),
      registers: number(/Used (\d+) registers/),
      shared: number(/(\d+) bytes smem/),
      spilled: number(/(\d+) bytes spill stores/) + number(/(\d+) bytes spill loads/),
    })
  }
  return kernels
}
