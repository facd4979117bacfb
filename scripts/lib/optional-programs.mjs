// What some tests need and most machines lack. A run says which of it was missing, since skipped tests are but a number.

import { spawnSync } from 'node:child_process'
import { interpreter, plainPython } from '../../bench/quality/python.mjs'
import { modelNamed, whereIs } from './models.mjs'

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } // where Debian has nginx

const program =
  (name, option = '--version') =>
  () =>
    spawnSync(name, [option], { env, stdio: 'ignore' }).status === 0
const NVCC = [process.env.CUDACXX ?? 'nvcc', 'nvcc', '/usr/local/cuda/bin/nvcc']
const model = modelNamed('smollm2-135m')

/** Name, whether it is there, and how it comes. */
export const OPTIONAL = {
  chromium: { isThere: program('chromium'), how: 'apt-get install chromium' },
  clang: { isThere: program('clang++'), how: 'apt-get install clang' },
  'g++-aarch64-linux-gnu': {
    isThere: program('aarch64-linux-gnu-g++'),
    how: 'apt-get install g++-aarch64-linux-gnu',
  },
  gguf: { isThere: () => interpreter('import gguf') !== undefined, how: 'python3 -m pip install gguf' },
  nginx: { isThere: program('nginx', '-v'), how: 'apt-get install nginx-light' },
  ninja: { isThere: program('ninja'), how: 'apt-get install ninja-build' },
  nvcc: { isThere: () => NVCC.some((place) => program(place)()), how: 'the CUDA toolkit' },
  python3: { isThere: () => plainPython() !== undefined, how: 'apt-get install python3' },
  qemu: {
    isThere: () => program('qemu-x86_64')() && program('qemu-aarch64')(),
    how: 'apt-get install qemu-user',
  },
  'redis-server': { isThere: program('redis-server'), how: 'apt-get install redis-server' },
  [model.name]: { isThere: () => whereIs(model) !== undefined, how: `npm run models -- ${model.name}` },
  torch: { isThere: () => interpreter('import torch') !== undefined, how: 'python3 -m pip install torch' },
}

/** A line for each of `names` that is missing. */
export const missing = (names) =>
  names
    .filter((name) => !OPTIONAL[name].isThere())
    .map((name) => `${name} is missing, its tests are skipped (${OPTIONAL[name].how})`)
