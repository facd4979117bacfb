// The CUDA kernels compile for every architecture that we name, without a warning, and stay within their limits.
// Nothing runs here: no GPU is needed, only nvcc.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { LIMITS, MMA_FROM } from './limits.js'
import { compile, nvcc, parseReport, SOURCES } from './nvcc.js'

const ARCHS = [75, 87, 90] as const
const HEAD_SIZES = [64, 80, 96, 128, 256]

const files = readdirSync(SOURCES)
  .filter((name) => name.endsWith('.cu'))
  .sort()
vi.setConfig({ testTimeout: 600_000 })

test('every .cu file is part of the build', () => {
  const cmake = readFileSync(join(SOURCES, '../../cmake/ggml-cuda.cmake'), 'utf8')
  expect([...cmake.matchAll(/ops\/cuda\/(\S+\.cu)$/gm)].map(([, name]) => name).sort()).toEqual(files)
})

test.skipIf(!nvcc).each(files)(
  `%s compiles for sm_${ARCHS.join(', sm_')} within its limits`,
  async (file) => {
    const { status, output } = await compile(file, ARCHS)
    expect(status, output).toBe(0)
    expect(output.split('\n').filter((line) => /warning/.test(line) && line.includes(SOURCES))).toEqual([])

    const kernels = parseReport(output).filter(({ base, arch }) => !base.endsWith('_mma') || arch >= MMA_FROM)
    const over = kernels.filter(({ base, registers, shared, spilled }) => {
      const limit = LIMITS[base]
      return !limit || registers === 0 || registers > limit.registers || shared > limit.shared || spilled > 0
    })
    expect(over).toEqual([])

    for (const { name, arch, registers, shared } of kernels) {
      console.log(`sm_${arch} ${name.padEnd(20)} ${registers} registers, ${shared} bytes shared, no spills`)
    }

    // a parser that finds nothing would find nothing wrong
    const sized = new Set(kernels.filter(({ base }) => base.startsWith('h2o_attn')).map(({ name }) => name))
    if (file === 'h2o-query.cu') {
      const names = kernels.filter(({ base }) => base === 'h2o_query_search').map(({ name }) => name)
      const products = ['', ...HEAD_SIZES.map((d) => `<mma ${d}>`)] // F32 has one for all sizes
      expect(new Set(names)).toEqual(new Set(products.map((product) => `h2o_query_search${product}`)))
    }
    if (file === 'h2o-estimate.cu') {
      expect(sized).toEqual(new Set(HEAD_SIZES.map((d) => `h2o_attn_mma<${d}>`)))
    }
    if (/-(mma|plain)\.cu$/.test(file)) {
      const base = file.replace('.cu', '').replaceAll('-', '_')
      expect(sized).toEqual(new Set(HEAD_SIZES.map((d) => `${base}<${d}>`)))
    }
  },
)

test('the report is read as ptxas writes it', () => {
  const report = `
ptxas info    : Compiling entry function '_Z12h2o_attn_mmaILi128EEv13h2o_attn_args' for 'sm_90'
ptxas info    : Function properties for _Z12h2o_attn_mmaILi128EEv13h2o_attn_args
    56 bytes stack frame, 120 bytes spill stores, 96 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 56 bytes cumulative stack size, 37248 bytes smem
`
  const kernel = { name: 'h2o_attn_mma<128>', base: 'h2o_attn_mma', arch: 90 }
  expect(parseReport(report)).toEqual([{ ...kernel, registers: 255, shared: 37248, spilled: 216 }])
})
