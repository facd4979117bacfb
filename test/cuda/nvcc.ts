// nvcc with the flags of ggml-cuda's CMakeLists.txt, and what its ptxas reports of kernels.

import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

export const SOURCES = root('src/native/h2o/ops/cuda')
export const GGML = root('vendor/llama.cpp/ggml')

/** For what is built. */
export const FOLDER = root('build/cuda-ptx')
mkdirSync(FOLDER, { recursive: true })

const PLACES = [process.env.CUDACXX, 'nvcc', '/usr/local/cuda/bin/nvcc']

/** The compiler to use; undefined, and it is said, if there is none. */
export const nvcc = PLACES.find((place) => place && spawnSync(place, ['--version']).status === 0)
if (!nvcc) console.warn(`CUDA kernels: skipped, no nvcc (CUDACXX, PATH, ${PLACES.at(-1)})`)

/** As ggml-cuda's CMakeLists.txt compiles device code. Whether the toolkit has cuBLAS does not matter here. */
export const DEVICE_FLAGS = [
  ...['-std=c++17', '-O3', '-DNDEBUG', '-use_fast_math', '-extended-lambda', '-DGGML_CUDA_USE_GRAPHS'],
  ...[join(GGML, 'include'), join(GGML, 'src'), join(GGML, 'src/ggml-cuda'), root('test/cuda/stub')].flatMap(
    (include) => ['-I', include],
  ),
]

export function run(
  program: string,
  args: readonly (string | number)[],
  variables: Record<string, string> = {},
): Promise<{ status: number; output: string }> {
  const options = { env: { ...process.env, ...variables }, maxBuffer: 1 << 26 }
  return new Promise((resolve) => {
    execFile(program, args.map(String), options, (error, stdout, stderr) =>
      resolve({
        status: error ? Number(error.code ?? -1) : 0,
        output: `${stdout}${stderr}${error?.signal ?? ''}`,
      }),
    )
  })
}

/** Compiles a file for several architectures. -> what the compilers said, ptxas of each kernel */
export function compile(file: string, archs: readonly number[]) {
  return run(nvcc as string, [
    ...['-c', ...DEVICE_FLAGS, '-Xptxas', '-v', '-Xcompiler', '-Wall,-Wextra,-Wno-unused-function'],
    ...archs.flatMap((arch) => ['-gencode', `arch=compute_${arch},code=sm_${arch}`]),
    ...[join(SOURCES, file), '-o', join(FOLDER, `${file}-report.o`)],
  ])
}

// 'void h2o_query_wants<h2o_product_mma<128> >(h2o_query_args)' for 'sm_90': of it mma 128
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
