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
  const args = [
    ...['-c', ...deviceFlags(nvcc), '-Xptxas', '-v', '-Xcompiler', '-Wall,-Wextra,-Wno-unused-function'],
    ...archs.flatMap((arch) => ['-gencode', `arch=compute_${arch},code=sm_${arch}`]),
    ...[join(SOURCES, file), '-o', join(folder, 'out.o')],
  ]
  try {
    const { stdout, stderr } = await promisify(execFile)(nvcc, args, { maxBuffer: 1 << 26 })
    return stdout + stderr
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

// 'void h2o_query_key_most<h2o_product_mma<128, 64> >(h2o_query_args)' for 'sm_90': of it mma 128
const KERNEL = /^'(?:void )?(h2o_\w+)(?:<(?:h2o_product_(\w+)<)?(\d+))?.*' for 'sm_(\d+)/

export function parseReport(report: string) {
  const demangled = spawnSync('c++filt', { input: report, encoding: 'utf8' }).stdout
  return demangled
    .split('Compiling entry function ')
    .slice(1)
    .map((part) => {
      const [, base = '', product, size, arch] = KERNEL.exec(part) ?? []
      const number = (what: RegExp) => Number(what.exec(part)?.[1] ?? 0)
      return {
        name: size ? `${base}<${product ? `${product} ` : ''}${size}>` : base,
        base,
        arch: Number(arch),
        registers: number(/Used (\d+) registers/),
        shared: number(/(\d+) bytes smem/),
        spilled: number(/(\d+) bytes spill stores/) + number(/(\d+) bytes spill loads/),
      }
    })
}
