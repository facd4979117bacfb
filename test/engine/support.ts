// What the tests of the engine share: tiny models on disk, contexts over them, and a model that the reference reads
// too.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { type Context, type ContextOptions, createContext } from '../../src/ts/index.js'
import {
  type Architecture,
  type ModelSpec,
  makeModel,
  Random,
  writeGguf,
} from '../../src/ts/model-maker/index.js'
import { craftWeights } from '../reference/method/hot-model.js'
import { referenceOf } from '../reference/model/from-gguf.js'
import type { ReferenceModel } from '../reference/model/model.js'

const folder = mkdtempSync(join(tmpdir(), 'h2o-engine-'))
const contexts: Context[] = []
let nFiles = 0

afterAll(async () => {
  for (const context of contexts) await context.dispose()
  rmSync(folder, { recursive: true, force: true })
})

/** Writes a tiny model, two layers of 128 unless the spec says otherwise, and returns its path. */
export async function modelFile(spec: ModelSpec): Promise<string> {
  const path = join(folder, `${nFiles++}.gguf`)
  await writeGguf(makeModel(spec), path)
  return path
}

/** A model with random weights, as a file and as the reference reads it; its attention is sharp enough to matter. */
export async function plainModel(spec: ModelSpec): Promise<{ path: string; reference: ReferenceModel }> {
  const model = makeModel({ hidden: 64, heads: 4, headDim: 16, attentionGain: 3, ...spec })
  const path = join(folder, `${nFiles++}.gguf`)
  await writeGguf(model, path)
  return { path, reference: referenceOf(model) }
}

/** A model whose Heavy keeps changing (test/reference/method/hot-model.ts), as a file and as the reference reads it. */
export async function hotModel(
  arch: Architecture,
  kvHeads: number,
  headDim = 16,
): Promise<{ path: string; reference: ReferenceModel }> {
  const model = makeModel({ arch, hidden: 4 * headDim, heads: 4, kvHeads })
  const reference = referenceOf(model)
  craftWeights(reference)
  const path = join(folder, `${nFiles++}.gguf`)
  await writeGguf(model, path)
  return { path, reference }
}

/**
 * A context that the end of the test file disposes. Two threads; F32 KV cache and plain attention unless asked.
 */
export async function open(options: ContextOptions): Promise<Context> {
  const context = await createContext({
    nThreads: 2,
    nThreadsBatch: 2,
    nCtx: 4096,
    flashAttn: 'off',
    typeK: 'f32',
    typeV: 'f32',
    onWarning: () => {},
    ...options,
  })
  contexts.push(context)
  return context
}

/** n token ids of printable characters. */
export function randomTokens(n: number, seed = 1): number[] {
  const random = new Random(seed, 'tokens')
  return Array.from({ length: n }, () => 32 + Math.floor(random.uniform() * 90))
}

/** The logits of one decode call, all tokens of it. */
export async function allLogits(context: Context, tokens: ArrayLike<number>): Promise<Float32Array> {
  const { logits } = await context.decode(tokens, { logits: 'all' })
  if (!logits) throw new Error('no logits')
  return logits
}
