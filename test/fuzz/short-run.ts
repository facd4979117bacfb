/** Short runs of the fuzzer with fixed seeds. `npm run fuzz` is the long one. */

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

const PROGRAM = fileURLToPath(new URL('main.mjs', import.meta.url))

/** Mutants of each kind. */
export const RUNS = {
  gguf: 300,
  split: 120,
  vocab: 150,
  lora: 150,
  state: 150,
  api: 60,
  grammar: 60, // each may spend the whole budget of a grammar: some ten seconds
  chat: 400,
  template: 60,
  windows: 40,
  sequences: 40,
  http: 150,
  flags: 12,
}

/** What the fuzzer prints: a line for each kind. */
export function fuzz(...args: string[]): Promise<{ code: number; lines: Line[]; stderr: string }> {
  return new Promise((resolve) =>
    execFile(process.execPath, [PROGRAM, ...args], (error, stdout, stderr) => {
      const lines = stdout.split('\n').filter(Boolean)
      resolve({ code: error ? Number(error.code) : 0, lines: lines.map((line) => JSON.parse(line)), stderr })
    }),
  )
}

interface Line {
  kind: string
  runs: number
  distinct: number
  outcomes: Record<string, number>
}

/** Mutants of one kind from a seed on: none breaks anything, and they are not all alike. */
export async function expectNoFinding(kind: string, runs: number, seed: number): Promise<Line> {
  const args = ['--kind', kind, '--runs', String(runs), '--seed', String(seed)]
  const { code, lines, stderr } = await fuzz(...args)
  expect(code, stderr).toBe(0)
  const [line] = lines as [Line]
  expect(line.distinct).toBeGreaterThan(runs * 0.9)
  return line
}
