// A CUDA toolkit that CMake finds and that compiles nothing.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const FILES = {
  runtime: ['include/cuda_runtime.h', 'lib64/libcudart.so'],
  cublas: ['include/cublas_v2.h', 'lib64/libcublas.so'],
  driver: ['include/cuda.h', 'lib64/stubs/libcuda.so'],
  cccl: ['include/cub/cub.cuh'],
}
export const PARTS = Object.keys(FILES) as (keyof typeof FILES)[]

/** Makes it in `root`. Returns what tells CMake to look there and nowhere else. */
export function fakeToolkit(root: string, parts = PARTS): string[] {
  write(
    join(root, 'bin/nvcc'),
    `#!/bin/sh\necho 'Cuda compilation tools, release 12.6, V12.6.20'\necho '#$ TOP=${root}'\n`,
  )
  chmodSync(join(root, 'bin/nvcc'), 0o755)
  for (const file of parts.flatMap((part) => FILES[part])) write(join(root, file), '')
  return [
    `CUDAToolkit_ROOT=${root}`,
    `CMAKE_FIND_ROOT_PATH=${root}`,
    'CMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY',
    'CMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY',
  ]
}

function write(file: string, text: string) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
