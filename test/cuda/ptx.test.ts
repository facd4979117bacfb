// The CUDA launchers and kernels do what plain loops do, and the same bits whatever the order of blocks and warps: run
// from the PTX that nvcc makes of them, by an interpreter (test/cuda/ptx). No GPU is needed, only nvcc and the libraries
// that npm run build leaves.
//
// So do small models by ggml-cuda as a whole, upstream's kernels with it: bench/gpu/device-check.
//
// What it cannot show: speed, and what ptxas makes of the PTX.

import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { Build, CHIPS, run } from './cases/build.js'
import { MUTATIONS } from './cases/mutations.js'
import { findNvcc, root } from './nvcc.js'

/** Of each chip, whose PTX differs little: all that is to be met is met on the first one. */
const N_CASES = { 80: 140, 90: 40 }

const HEAD_SIZES = [64, 80, 96, 128, 256]
const GROUPS = [1, 2, 3, 4, 5, 6, 7, 8]
const INPUTS =
  'causal, near, set, blocks, short block, prev, v_trans, chunks, split, moved, tails, nan'.split(', ')
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
  ...['ties', 'many ties', 'nan', 'fills', 'removed', 'rounds'].map((name) => `select ${name}`),
  ...[...TYPES, ...QUERY].map((name) => `query ${name}`),
  ...[...TYPES, ...QUERY].filter((name) => name !== 'f32').map((name) => `query mma ${name}`),
]

/** Layers, hidden, heads, KV heads, head size, FFN, vocabulary and 0, as bench/gpu/random-model takes them. */
const SHAPE = [2, 256, 4, 2, 64, 256, 256, 0]

/** Models and cases of bench/gpu/agreement.cpp. Gemma 3 has windows. */
const MODELS = {
  qwen3: ['f16, -fa on', 'q8_0, -fa on', 'query, f16, -fa on, tail of 1', 'query, q8_0, -fa on'],
  gemma3: ['f16, -fa on', 'query, q8_0, -fa on'],
}

/** Kernels of upstream without which they were not computed on the device. */
const UPSTREAM_KERNELS = [
  ...['flash_attn_ext_f16', 'flash_attn_ext_vec', 'k_set_rows', 'mul_mat_q', 'mul_mat_vec_q'],
  ...['quantize_mmq_q8_1', 'rms_norm_f32', 'unary_gated_op_kernel'],
]

const nvcc = findNvcc()
if (nvcc === null)
  console.warn('CUDA kernels on the interpreter: skipped, no nvcc (CUDACXX, PATH, /usr/local/cuda)')

const FOLDER = root('build/cuda-ptx')

let build: Build
let programs: Awaited<ReturnType<Build['unchanged']>>

beforeAll(async () => {
  if (nvcc === null) return
  build = new Build(nvcc, FOLDER)
  programs = await build.unchanged()
}, 900_000)

test.skipIf(nvcc === null)('the interpreter does what the PTX ISA says', async () => {
  const { status, output } = await run(programs.isa)
  expect(output).not.toContain('FAIL')
  expect(status).toBe(0)
})

test.skipIf(nvcc === null)(
  `the kernels do what plain loops do, from their PTX for sm_${CHIPS.join(' and sm_')}`,
  async () => {
    const results = await Promise.all(
      CHIPS.map((chip, i) => run(programs.cases, ['all', N_CASES[chip], i + 1, chip])),
    )
    for (const { status, output } of results) {
      expect(output).not.toContain('FAIL')
      expect(status).toBe(0)
      console.log(output.replace(/^covered .*\n/gm, ''))
    }
    const covered = results.flatMap(({ output }) =>
      [...output.matchAll(/^covered (.+) \d+$/gm)].map(([, name]) => name),
    )
    expect([...new Set(covered)].sort()).toEqual([...COVERED].sort())
  },
  900_000,
)

test.skipIf(nvcc === null)(
  `small models prefill and decode on ggml-cuda as on the CPU: ${Object.keys(MODELS).join(', ')}`,
  async () => {
    const { check, make } = await build.model()
    await Promise.all(
      Object.entries(MODELS).map(async ([arch, cases]) => {
        const file = join(FOLDER, `${arch}.gguf`)
        const log = join(FOLDER, `${arch}.log`)
        rmSync(log, { force: true })
        expect(await run(make, [file, 'q8_0', ...SHAPE, arch])).toEqual({ status: 0, output: '' })

        // a graph would be launched without what is in it
        const env = { DRY_RUN_LOG: log, GGML_CUDA_DISABLE_GRAPHS: '1' }
        const { status, output } = await run(check, [file, 64, 7, ...cases], env)
        console.log(`${arch}\n${output}`)
        expect(output.match(/^ok .*/gm)?.length, output).toBe(cases.length)
        expect(status).toBe(0)

        const launched = new Set(
          [...readFileSync(log, 'utf8').matchAll(/^launch\t(?:void )?(\w+)/gm)].map((m) => m[1]),
        )
        expect([...launched]).toEqual(expect.arrayContaining(UPSTREAM_KERNELS))
      }),
    )
  },
  900_000,
)

test.skipIf(nvcc === null)(
  `faults are found: ${MUTATIONS.map(({ name }) => name).join(', ')}`,
  async () => {
    const found = await Promise.all(
      MUTATIONS.map(async (mutation) => {
        const { status, output } = await run(await build.mutated(mutation), [...mutation.cases, 1, CHIPS[0]])
        const line = /^FAIL .*/m.exec(output)?.[0] ?? 'not found'
        console.log(`${mutation.name}: ${line}`)
        return { name: mutation.name, found: line !== 'not found', status }
      }),
    )
    expect(found).toEqual(MUTATIONS.map(({ name }) => ({ name, found: true, status: 1 })))
  },
  900_000,
)
