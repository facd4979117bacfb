// On Windows CMake takes the toolkit from Visual Studio, which cannot be faked with files.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { requireCudaToolkit as requireIn } from '../../scripts/lib/cuda-toolkit.mjs'
import { fakeToolkit, PARTS } from './fake-toolkit.js'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'h2o-toolkit-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const requireCudaToolkit = (defines: string[]) => requireIn(defines, join(root, 'build'))

const PACKAGES = {
  runtime: 'cuda-cudart-dev-12-6',
  cublas: 'libcublas-dev-12-6',
  driver: 'cuda-driver-dev-12-6',
  cccl: 'cuda-cccl-12-6',
}

describe.skipIf(process.platform === 'win32')('the CUDA toolkit', () => {
  test('a whole one is enough', () => {
    expect(requireCudaToolkit([...fakeToolkit(root), 'CMAKE_CUDA_COMPILER=nvcc'])).toEqual([])
  })

  test('is looked for in the build folder, whatever a look that was ended has left there', () => {
    const left = join(root, 'build/cuda-toolkit')
    mkdirSync(left, { recursive: true })
    writeFileSync(join(left, 'CMakeCache.txt'), 'CMAKE_HOME_DIRECTORY:INTERNAL=/nowhere')
    expect(requireCudaToolkit([...fakeToolkit(root), 'CMAKE_CUDA_COMPILER=nvcc'])).toEqual([])
    expect(readdirSync(join(root, 'build'))).toEqual([])
  })

  test.each(PARTS)('without %s, its package is named, and nothing else', (part) => {
    const defines = fakeToolkit(
      root,
      PARTS.filter((other) => other !== part),
    )
    let message = ''
    try {
      requireCudaToolkit(defines)
    } catch (error) {
      message = (error as Error).message
    }
    expect(message.match(/\S+-12-6/g)).toEqual([PACKAGES[part]])
    expect(message).toContain('--cpu')
  })

  test("without virtual memory management, the driver's library is not needed", () => {
    const defines = fakeToolkit(
      root,
      PARTS.filter((part) => part !== 'driver'),
    )
    expect(() => requireCudaToolkit([...defines, 'GGML_CUDA_NO_VMM=ON'])).not.toThrow()
  })

  test('an nvcc that is not on the PATH is passed on', () => {
    const path = process.env.PATH
    // cmake, the compiler and make, without nvcc
    process.env.PATH = '/usr/bin:/bin'
    try {
      expect(requireCudaToolkit(fakeToolkit(root))).toEqual([`CMAKE_CUDA_COMPILER=${join(root, 'bin/nvcc')}`])
    } finally {
      process.env.PATH = path
    }
  })
})
