// The CUDA launchers and kernels do what plain loops do, and the same bits whatever the order of warps; a sparse
// prefill of a model by them is that of the CPU: on the host, with threads, shared memory and tensor-core instructions
// emulated (test/cuda/emulation). No GPU is needed, only CUDA's headers, and the libraries that npm run build leaves.
//
// What it cannot show: speed, what the device's compiler makes of the code, races within a warp, the rest of ggml-cuda.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Build, findHeaders, run } from './emulation/build.js'
import { MUTATIONS } from './emulation/mutations.js'

const N_CASES = 180 // about 25 s of one core
const SEED = 1

const HEAD_SIZES = [64, 80, 96, 128, 256]
const GROUPS = [1, 2, 3, 4, 5, 6, 7, 8]
const INPUTS = 'causal, near, set, blocks, short block, prev, v_trans, chunks, split, moved, tails'.split(
  ', ',
)
const TYPES = ['f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1', 'f32']
const QUERY =
  'all, no landmarks, landmarks in Local, picks pages, blocks, few queries, many heads, moved'.split(', ')

/** What the cases must have met, so that none of it is left out unnoticed. */
const COVERED = [
  ...['mma', 'plain'].flatMap((path) => {
    const types = TYPES.filter((type) => path === 'plain' || type !== 'f32')
    return [
      ...HEAD_SIZES.map((d) => `${path} d=${d}`),
      ...GROUPS.map((n) => `${path} group=${n}`),
      ...types.flatMap((type) => [`${path} k=${type}`, `${path} v=${type}`]),
      ...INPUTS.map((name) => `${path} ${name}`),
    ]
  }),
  'mma wide',
  ...['ties', 'nan', 'fills', 'removed', 'rounds'].map((name) => `select ${name}`),
  ...[...TYPES, ...QUERY].map((name) => `query ${name}`),
  ...[...TYPES, ...QUERY].filter((name) => name !== 'f32').map((name) => `query mma ${name}`),
]

const headers = findHeaders()
if (headers === null) {
  console.warn("CUDA emulation: skipped, no g++ that finds CUDA's headers (nvcc, CUDA_PATH, /usr/local/cuda)")
}

let folder: string | undefined
let build: Build
let program: string

beforeAll(async () => {
  if (headers === null) return
  folder = mkdtempSync(join(tmpdir(), 'h2o-cuda-emulation-'))
  build = new Build(headers, folder)
  program = await build.unchanged()
}, 600_000)

afterAll(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})

test.skipIf(headers === null)(
  'the kernels do what plain loops do',
  () => {
    const { status, output } = run(program, ['all', N_CASES, SEED])
    expect(output).not.toContain('FAIL')
    expect(status).toBe(0)

    const covered = [...output.matchAll(/^covered (.+) \d+$/gm)].map(([, name]) => name)
    expect([...covered].sort()).toEqual([...COVERED].sort())
    console.log(output.replace(/^covered .*\n/gm, ''))
  },
  600_000,
)

test.skipIf(headers === null)(
  'a model prefilled by the launchers and kernels gives what it gives on the CPU',
  () => {
    const { status, output } = run(program, ['model'])
    expect(status, output).toBe(0)
    expect(output.match(/^ok /gm)).toHaveLength(24)
    console.log(output)
  },
  600_000,
)

test.skipIf(headers === null).each(MUTATIONS)(
  'the emulation finds a fault: $name',
  async (mutation) => {
    const { status, output } = run(await build.mutated(mutation), mutation.args)
    expect(output).toMatch(/^FAIL /m)
    expect(status).toBe(1)
    console.log(`${mutation.name}: ${output.split('\n')[0]}`)
  },
  600_000,
)
