// What the tests of llama.cpp's tools share: running them, tiny models and texts on disk.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'
import { type ModelSpec, makeModel, Random, writeGguf } from '../../src/ts/model-maker/index.js'

export const BIN = fileURLToPath(new URL('../../build/bin/', import.meta.url))

export type Tool = 'llama-completion' | 'llama-perplexity' | 'llama-bench' | 'llama-batched-bench'

export interface Outcome {
  status: number
  stdout: string
  stderr: string
}

const folder = mkdtempSync(join(tmpdir(), 'h2o-tools-'))
let nFiles = 0

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A path for a file that goes with the tests. */
export function scratch(name: string): string {
  return join(folder, `${nFiles++}-${name}`)
}

/** Writes a tiny model whose tokens are the bytes of a text, without BOS, and returns its path. */
export async function modelFile(spec: ModelSpec = { arch: 'qwen3' }): Promise<string> {
  const path = scratch('model.gguf')
  await writeGguf(makeModel(spec), path)
  return path
}

export function textFile(text: string): string {
  const path = scratch('text.txt')
  writeFileSync(path, text)
  return path
}

/** n random letters: n tokens of a model of ours. */
export function letters(n: number, seed = 1): string {
  const random = new Random(seed, 'text')
  return String.fromCharCode(...Array.from({ length: n }, () => 97 + Math.floor(random.uniform() * 26)))
}

/** The environment, without what speaks to the tools. */
export function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^(LLAMA_|H2O_|GGML_)/.test(key)))
}

/** Runs a tool to its end, without input, on one thread unless the arguments say otherwise. */
export function run(tool: Tool, args: string[], env: Record<string, string> = {}): Promise<Outcome> {
  const options = { env: { ...cleanEnv(), ...env }, maxBuffer: 64 << 20 }
  return new Promise((resolve, reject) => {
    const child = execFile(join(BIN, tool), ['-t', '1', ...args], options, (error, stdout, stderr) => {
      const status = error ? error.code : 0
      if (typeof status === 'number') resolve({ status, stdout, stderr })
      else reject(error)
    })
    child.stdin?.end()
  })
}

/** The lines of stderr that H2O wrote, without the time stamps of the log. */
export function h2oLines({ stderr }: Outcome): string[] {
  return stderr.split('\n').flatMap((line) => /(?:h2o: |\[H2O\]).*/.exec(line)?.[0] ?? [])
}

/** What a tool says at its end of its calls: one text, or none. */
export function calls(outcome: Outcome): string[] {
  return h2oLines(outcome).flatMap((line) => line.split('calls by path and reason: ')[1] ?? [])
}
