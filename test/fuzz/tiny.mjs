// The healthy model of the kinds that mutate something else, one per process.

import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createContext, loadModel } from '../../dist/index.js'
import { writeModel } from '../../dist/model-maker/index.js'

const FILE = join(tmpdir(), `h2o-fuzz-tiny-${process.pid}.gguf`)

process.on('exit', () => rmSync(FILE, { force: true }))

let model

export async function tinyModelFile() {
  await writeModel(FILE, { arch: 'llama', hidden: 128, heads: 4 })
  return FILE
}

export async function tinyContext(options = {}) {
  model ??= await loadModel(await tinyModelFile())
  return createContext({
    model,
    nCtx: 1024,
    nBatch: 192,
    nUbatch: 64,
    nThreads: 1,
    h2o: { local: 16, heavy: 16 },
    ...options,
  })
}

/** n token ids of a draw. */
export const someTokens = (draw, n) => draw.list(n, () => draw.int(0, 255))

export function sameLogits(a, b) {
  return a.length === b.length && a.every((value, i) => Object.is(value, b[i]))
}
