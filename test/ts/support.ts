/** Tiny models and contexts for the tests of the library. One thread each: more only wait for one another. */

import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'
import {
  type Context,
  type ContextOptions,
  createContext,
  type GeneratedToken,
  type GenerateSummary,
} from '../../src/ts/index.js'
import { type ModelSpec, writeModel } from '../../src/ts/model-maker/index.js'

const folder = await mkdtemp(join(tmpdir(), 'h2o-addon-'))
const models = new Map<string, Promise<string>>()

afterAll(() => rm(folder, { recursive: true, force: true }))

/** A file of this test's own. */
export function scratch(name: string): string {
  return join(folder, name)
}

/** The path of a model; equal specs share a file. A spec with `edit` needs a name of its own. */
export function tinyModel(spec: Partial<ModelSpec> = {}, name = ''): Promise<string> {
  const key = JSON.stringify(spec) + name
  let path = models.get(key)
  if (!path) {
    const file = scratch(`model-${models.size}.gguf`)
    path = writeModel(file, { arch: 'llama', hidden: 64, heads: 4, ...spec }).then(() => file)
    models.set(key, path)
  }
  return path
}

export async function tinyContext(options: Partial<ContextOptions> = {}): Promise<Context> {
  return createContext({
    model: options.model ?? (await tinyModel()),
    nCtx: 1024,
    nBatch: 192,
    nUbatch: 64,
    nThreads: 1,
    h2o: { local: 16, heavy: 16 },
    ...options,
  })
}

/** A name, and options of tinyContext(). */
export type Way = [string, () => Promise<Partial<ContextOptions>>]

/** The memories that a context can have. */
export const memoryWays: Way[] = [
  ['query', async () => ({})],
  ['Q8_0', async () => ({ typeK: 'q8_0', typeV: 'q8_0', model: await tinyModel({ headDim: 32 }) })],
  ['dense', async () => ({ h2o: false })],
  ['windows', async () => ({ model: await tinyModel({ arch: 'gemma3', layers: 6 }) })],
  ['hybrid', async () => ({ model: await tinyModel({ arch: 'lfm2', layers: 6 }) })],
]

/** What may be chosen in place of the default policy. */
export const policyWays: Way[] = [
  ['votes', async () => ({ h2o: { local: 16, heavy: 16, select: 'votes' } })],
  ['two-pass', async () => ({ h2o: { local: 16, heavy: 16, schedule: 'two-pass' } })],
]

/** n token ids that repeat no pattern. */
export function someTokens(n: number, seed = 1): Int32Array {
  let state = seed
  return Int32Array.from({ length: n }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return 32 + ((state >>> 16) % 90)
  })
}

/** Everything a generation yields, and its summary. */
export async function collect(
  generation: AsyncGenerator<GeneratedToken, GenerateSummary, void>,
): Promise<{ tokens: number[]; texts: string[]; summary: GenerateSummary }> {
  const tokens: number[] = []
  const texts: string[] = []
  for (;;) {
    const next = await generation.next()
    if (next.done) return { tokens, texts, summary: next.value }
    tokens.push(next.value.token)
    texts.push(next.value.text)
  }
}

interface Ended {
  code: number | null
  signal: string | null
  stdout: string
  stderr: string
}

/** Runs a script of addon/fixtures by itself, with the built library; `program` is Node, or what runs it. */
export function runFixture(
  name: string,
  args: string[] = [],
  nodeArgs: string[] = [],
  program?: [string, ...string[]],
): Promise<Ended> {
  const script = fileURLToPath(new URL(`../addon/fixtures/${name}`, import.meta.url))
  return runNode([...nodeArgs, script, ...args], { program })
}

export function runNode(
  args: string[],
  {
    program: [program, ...before] = [process.execPath],
    cwd,
    env = process.env,
  }: { program?: [string, ...string[]] | undefined; cwd?: string; env?: NodeJS.ProcessEnv },
): Promise<Ended> {
  const child = spawn(program, [...before, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
}
