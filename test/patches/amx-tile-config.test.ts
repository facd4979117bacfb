// The AMX tile configuration on machines without AMX, from the compiler's assembly: GCC before 14 dropped the stores
// that filled it. What the instruction reads must be a constant of 64 bytes.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const CXX = process.env.CXX ?? 'c++'
const FLAGS = [
  '-S',
  '-O3',
  '-DNDEBUG',
  '-fPIC',
  '-std=c++17',
  '-D_GNU_SOURCE',
  '-w',
  '-march=sapphirerapids',
  '-o',
  '-',
]

function compile(args: string[], input?: string) {
  return spawnSync(CXX, [...FLAGS, ...args], { input, encoding: 'utf8', maxBuffer: 1 << 26 })
}

const knowsAmx = compile(['-x', 'c++', '-'], 'int i;').status === 0

describe.skipIf(!knowsAmx)(`${CXX} -march=sapphirerapids`, () => {
  test.each([
    'llama.cpp',
    'llama.cpp-stock',
  ])('vendor/%s loads its tiles from a constant of 64 bytes', (tree) => {
    const ggml = root(`vendor/${tree}/ggml`)
    const includes = ['src', 'include', 'src/ggml-cpu'].map((folder) => `-I${ggml}/${folder}`)
    const { status, stderr, stdout } = compile([...includes, `${ggml}/src/ggml-cpu/amx/mmq.cpp`])
    expect(stderr).toBe('')
    expect(status).toBe(0)

    const loads = [...stdout.matchAll(/^\s*ldtilecfg\s+(.*)$/gm)].map(([, operand]) => operand)
    expect(loads.length).toBeGreaterThan(0)
    for (const operand of loads) {
      const symbol = /^(\w+)\(%rip\)$/.exec(operand ?? '')?.[1]
      expect(symbol, `ldtilecfg ${operand}`).toBeDefined()
      expect(stdout).toMatch(new RegExp(`^\\s*\\.size\\s+${symbol}, 64$`, 'm'))
      expect(sectionOf(stdout, symbol as string)).toMatch(/^\.rodata/)
    }
  })
})

/** The section that holds a symbol. */
function sectionOf(assembly: string, symbol: string): string | undefined {
  const before = assembly.slice(0, assembly.indexOf(`\n${symbol}:`))
  return [...before.matchAll(/^\s*\.section\s+([\w.]+)|^\s*(\.text|\.data|\.bss)\b/gm)]
    .at(-1)
    ?.slice(1)
    .find(Boolean)
}
