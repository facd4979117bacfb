// Is the CUDA toolkit whole? Asked before a build with CUDA is configured: CMake's messages name targets, not packages.

import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure } from './fail.mjs'
import { has } from './run.mjs'
import { generator } from './toolchain.mjs'

const PROBE = fileURLToPath(new URL('cuda-toolkit', import.meta.url))

/** What the build needs of it, and in which package NVIDIA has it. */
const PARTS = {
  nvcc: { what: 'the compiler nvcc', apt: 'cuda-nvcc' },
  runtime: { what: 'the runtime (libcudart, cuda_runtime.h)', apt: 'cuda-cudart-dev' },
  cublas: { what: 'cuBLAS (libcublas, cublas_v2.h)', apt: 'libcublas-dev' },
  cccl: { what: 'CCCL (cub/cub.cuh)', apt: 'cuda-cccl' },
  driver: { what: "the driver's library or its stub (libcuda)", apt: 'cuda-driver-dev' },
}

/**
 * Fails unless all parts are there. Returns what CMake has to be told about them.
 * @param {string[]} defines KEY=VALUE  @param {string} build the folder that the build goes to
 */
export function requireCudaToolkit(defines, build) {
  const found = look(defines, join(build, 'cuda-toolkit'))
  if (!found) return [] // no opinion: the configuration itself says what it does not like
  const noVmm = defines.some((define) => /^GGML_CUDA_NO_VMM(:\w+)?=(ON|1|TRUE|YES)$/i.test(define))
  const parts = found.runtime ? Object.keys(PARTS) : ['nvcc', 'runtime'] // without it, CMake looks for no other
  const missing = parts.filter((part) => !found[part] && !(part === 'driver' && noVmm))
  if (missing.length > 0) throw incomplete(missing, found)

  const compilerIsGiven =
    process.env.CUDACXX || defines.some((define) => /^CMAKE_CUDA_COMPILER(:\w+)?=/.test(define))
  return compilerIsGiven || has('nvcc') ? [] : [`CMAKE_CUDA_COMPILER=${found.nvcc}`]
}

/** In a folder with a name that the next build knows: where a signal ends this one, it stays. */
function look(defines, scratch) {
  rmSync(scratch, { recursive: true, force: true })
  try {
    const given = defines.map((define) => `-D${define}`)
    const args = ['-S', PROBE, '-B', scratch, '--no-warn-unused-cli', ...generator(scratch), ...given]
    const { status, stdout } = spawnSync('cmake', args, { encoding: 'utf8' })
    if (status !== 0) return undefined
    return Object.fromEntries(
      [...stdout.matchAll(/^-- h2o (\w+)=(.*)$/gm)].map(([, part, value]) => [part, value]),
    )
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function incomplete(missing, { root, version, nvcc, runtime }) {
  const none = !nvcc && !runtime
  const lacks = missing.map((part) => PARTS[part].what).join(', ')
  const suffix = /^\d+\.\d+$/.test(version) ? `-${version.replace('.', '-')}` : ''
  const packages = none ? ['cuda-toolkit'] : missing.map((part) => `${PARTS[part].apt}${suffix}`)
  return new Failure(
    none
      ? 'a build with CUDA needs the CUDA toolkit, and there is none that CMake finds.'
      : `the CUDA toolkit ${version} in ${root} lacks ${lacks}.`,
    [
      `From NVIDIA's repository (Debian, Ubuntu): sudo apt-get install ${packages.join(' ')}`,
      'From Debian or Ubuntu themselves:          sudo apt-get install nvidia-cuda-toolkit',
      'Jetson (JetPack):                          sudo apt-get install nvidia-jetpack',
      'It is in another folder:                   -D CUDAToolkit_ROOT=FOLDER',
      ...(missing.includes('driver') && !none
        ? ["Do without the driver's library:           -D GGML_CUDA_NO_VMM=ON"]
        : []),
      'Do without CUDA:                           --cpu',
    ].join('\n'),
  )
}
