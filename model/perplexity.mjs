/**
 * Perplexity of the same held-out tokens with more and more context before them: the last 128 of each window.
 *
 *   node model/perplexity.mjs MODEL [models/recall/held-out.json] [WINDOWS]
 */

import { readFileSync } from 'node:fs'
import { createContext } from '../dist/index.js'

const [model, file = 'models/recall/held-out.json', count = '20'] = process.argv.slice(2)
const LENGTHS = [256, 512, 1024, 2048, 4096, 8192]
const TARGETS = 128
const BATCH = 2048

const longest = LENGTHS.at(-1)
const ctx = await createContext({ model, nCtx: longest, nBatch: BATCH, h2o: false })
const [bos] = ctx.model.tokenize('')
const sums = LENGTHS.map(() => 0)
let windows = 0
for (const text of JSON.parse(readFileSync(file, 'utf8'))) {
  const tokens = ctx.model.tokenize(text, { addSpecial: false })
  if (tokens.length < longest || windows === Number(count)) continue
  windows++
  for (const [i, length] of LENGTHS.entries())
    sums[i] += await loss(tokens.subarray(longest - length + 1, longest))
}
await ctx.dispose()
console.log(`${windows} windows, the last ${TARGETS} tokens of each`)
for (const [i, length] of LENGTHS.entries()) {
  console.log(`context ${String(length).padStart(5)}: perplexity ${Math.exp(sums[i] / windows).toFixed(3)}`)
}

/** Mean loss of the last TARGETS tokens, after BOS and everything before them. */
async function loss(tokens) {
  await ctx.clear()
  const ids = [bos, ...tokens]
  const scored = ids.length - TARGETS - 1
  for (let at = 0; at < scored; at += BATCH) await ctx.decode(ids.slice(at, Math.min(scored, at + BATCH)))
  const { logits } = await ctx.decode(ids.slice(scored, -1), { logits: 'all' })
  const vocab = logits.length / TARGETS
  let sum = 0
  for (let i = 0; i < TARGETS; i++) {
    const row = logits.subarray(i * vocab, (i + 1) * vocab)
    const max = row.reduce((a, b) => Math.max(a, b))
    const total = row.reduce((a, b) => a + Math.exp(b - max), 0)
    sum += max + Math.log(total) - row[ids[scored + 1 + i]]
  }
  return sum / TARGETS
}
