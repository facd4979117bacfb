/**
 * Whether llama.cpp computes what the training computed: tokens must be equal, logits within an NMSE of 1e-6. The
 * network that is held against the F16 file has its weights rounded too. `python3 model/logits.py FOLDER` comes first.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext } from '../dist/index.js'

const folder = process.argv[2] ?? 'models/recall'
const { text, ids } = JSON.parse(readFileSync(join(folder, 'check.json'), 'utf8'))
const LIMIT = 1e-6

for (const type of ['f32', 'f16']) {
  const ctx = await createContext({
    model: join(folder, `check-${type}.gguf`),
    nCtx: ids.length,
    nBatch: ids.length,
    nUbatch: ids.length,
    flashAttn: 'off',
    typeK: 'f32',
    typeV: 'f32',
    h2o: false,
  })
  const tokens = Array.from(ctx.model.tokenize(text, { addSpecial: true }))
  const same = tokens.length === ids.length && tokens.every((id, i) => id === ids[i])
  const { logits } = await ctx.decode(ids, { logits: 'all' })
  const nmse = error(logits, readFloats(join(folder, `check-${type}.bin`)))
  console.log(
    `${type}: ${tokens.length} tokens ${same ? 'equal' : 'DIFFERENT'}, logits NMSE ${nmse.toExponential(2)}`,
  )
  if (!same || !(nmse <= LIMIT)) process.exitCode = 1
  await ctx.dispose()
}

function readFloats(path) {
  const bytes = new Uint8Array(readFileSync(path))
  return new Float32Array(bytes.buffer)
}

function error(a, b) {
  let difference = 0
  let size = 0
  for (let i = 0; i < b.length; i++) {
    difference += (a[i] - b[i]) ** 2
    size += b[i] ** 2
  }
  return a.length === b.length ? difference / size : Number.NaN
}
