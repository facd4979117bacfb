// The CUDA launchers and kernels do what plain loops do, and the same bits whatever the order of blocks and warps: run
// from the PTX that nvcc makes of them, by an interpreter (test/cuda/ptx), under ggml-cuda as a whole. No GPU is needed,
// only nvcc and the libraries that npm run build leaves.
//
// So do small models that prefill and decode, upstream's kernels with them: bench/gpu/device-check. bench/gpu/op-bench says
// what launches cost.
//
// What it cannot show: speed, and what ptxas makes of the PTX.

import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { build, CHIPS, mutated } from './build.js'
import { LIMITS } from './limits.js'
import { MUTATIONS } from './mutations.js'
import { FOLDER, nvcc, run } from './nvcc.js'

/** All cases on one chip, in two halves; of the others, what they have kernels of their own or other PTX for. */
const RUNS: [chip: number, filter: string][] = [
  [80, 'h2o=query,'],
  [80, 'h2o=(?!query,)'],
  [
    75,
    'attn,.*= \\w+ \\w+ 64 7 |order,.*= 64 |estimate,.*= (64|72|576) |query,.*= (f16|bf16|q4_0) \\w+ 2 (870|3000|3070) ',
  ],
  [90, 'attn,.*= f16 f16 \\w+ (2|7) |estimate,.*= (64|256) |query,.*= (f16|q8_0) 64 2 (2970|3100) '],
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

/** Of op-bench: a KV head of size 64 and its group of 2, chunks of 256 among 8192 cells, launched once. */
const BENCH = [1, 2, 64, 256, 8192, 1, 1]

vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000, maxConcurrency: 2 })

const check = test.skipIf(!nvcc)
let programs: Awaited<ReturnType<typeof build>>

/** With what was launched. */
async function launched(program: string, args: (string | number)[], name: string, chip = 90) {
  const log = join(FOLDER, `${name}.log`)
  rmSync(log, { force: true })
  const result = await run(program, args, {
    ...{ DRY_RUN_LOG: log, DRY_RUN_CHIP: `${chip}` },
    GGML_CUDA_DISABLE_GRAPHS: '1', // a graph would be launched without what is in it
    // keys may be rounded, as tensor cores do to F16, but all channels count: inputs for a search by 8 bits have quiet ones
    ...{ H2O_AMX: '1', H2O_INT16: '0', H2O_INT8: '0' },
  })
  const kernels = [...readFileSync(log, 'utf8').matchAll(/^launch\t(?:void )?(\w+)/gm)].map(
    (m) => m[1] as string,
  )
  return { ...result, kernels }
}

/** Costs of op-bench's launches, those over a kernel's limits apart. */
function costsOf(output: string) {
  const rows = [...output.matchAll(/^cost (h2o_\w+).* ([\d.]+)x +[\d.]+ +([\d.]+)x$/gm)]
  const over = rows.filter(([, kernel = '', sectors, banks]) => {
    const limit = LIMITS[kernel]
    return !limit || Number(sectors) > limit.sectors || Number(banks) > limit.banks
  })
  return { kernels: rows.map(([, kernel]) => kernel), over: over.map(([row]) => row) }
}

beforeAll(async () => {
  if (nvcc) programs = await build()
})

check('the interpreter does what the PTX ISA says', async () => {
  const { status, output } = await run(programs.isa, [])
  expect(output).not.toContain('FAIL')
  expect(status).toBe(0)
})

check(`the kernels do what plain loops do, from their PTX for sm_${CHIPS.join(', sm_')}`, async () => {
  const results = await Promise.all(
    RUNS.map(([chip, filter], i) => launched(programs.ops, [filter], `ops-${i}`, chip)),
  )
  for (const { status, output } of results) {
    expect(output).not.toContain('FAIL')
    expect(status).toBe(0)
    console.log(output)
  }
  const kernels = new Set(results.flatMap(({ kernels }) => kernels))
  expect([...kernels]).toEqual(expect.arrayContaining(Object.keys(LIMITS)))
})

check('no kernel moves much more than it needs, or meets itself in the banks of shared memory', async () => {
  const runs = await Promise.all(
    [75, 90].map((chip) => launched(programs.bench, BENCH, `bench-${chip}`, chip)),
  )
  for (const { output } of runs) console.log(output)
  // the last step is stock's attention, which is not compiled for sm_75
  expect(runs.map(({ status }) => status)).toEqual([127, 0])

  const costs = runs.map(({ output }) => costsOf(output))
  expect(costs.flatMap(({ over }) => over)).toEqual([])
  // that one is for caches that are smaller than a set
  const missed = Object.keys(LIMITS).filter((name) => !costs.some(({ kernels }) => kernels.includes(name)))
  expect(missed).toEqual(['h2o_query_take_all'])
})

check(`small models run on ggml-cuda as on the CPU: ${Object.keys(MODELS).join(', ')}`, async () => {
  const { make, device } = programs
  await Promise.all(
    Object.entries(MODELS).map(async ([arch, cases]) => {
      const file = join(FOLDER, `${arch}.gguf`)
      expect(await run(make, [file, 'q8_0', ...SHAPE, arch])).toEqual({ status: 0, output: '' })

      const { status, output, kernels } = await launched(device, [file, 64, 7, ...cases], arch)
      console.log(`${arch}\n${output}`)
      expect(output.match(/^ok .*/gm)?.length, output).toBe(cases.length)
      expect(status).toBe(0)
      expect(kernels).toEqual(expect.arrayContaining(UPSTREAM_KERNELS))
      expect(kernels).not.toContain('cublas') // which multiplies nothing here
    }),
  )
})

check.concurrent.each(MUTATIONS)('$name is found', async (mutation) => {
  const { name, chip, filter } = mutation
  const program = await mutated(mutation)
  const { status, output } = await launched(program, filter ? [filter] : BENCH, name, chip)

  const found = filter ? (output.match(/^FAIL .*/gm) ?? []) : costsOf(output).over
  console.log(`${name}: ${found[0]}`)
  expect(found.length).toBeGreaterThan(0)
  if (filter) expect(status).toBe(1)
})
