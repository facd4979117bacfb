// What sparse decoding loses: a long text is read, then what follows it is decoded token by token as it stands, once with all
// keys and once with each number of keys, over the same cache. Shown are the perplexity of what follows over that with all
// keys, the mean and the 99th percentile of the KL divergence from it, and how often the likeliest token is the same. The first
// row is what llama.cpp's attention with -fa on differs from our exact kernel, which sums in F32.
//
//   node bench/decode-quality.mjs --model MODEL.gguf --file TEXT [--prompt N] [--tokens N] [--keys 128,256,auto] [--from N]

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

import { createContext, loadModel } from '../dist/index.js'

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    file: { type: 'string' },
    prompt: { type: 'string', default: '8000' },
    tokens: { type: 'string', default: '128' },
    keys: { type: 'string', default: '128,256,512,auto' },
    from: { type: 'string', default: '0' }, // tokens of the text that are left out
    threads: { type: 'string', default: '2' },
  },
})
const [nPrompt, nRead, nThreads, from] = [values.prompt, values.tokens, values.threads, values.from].map(
  Number,
)
const settings = values.keys.split(',').map((keys) => (keys === 'auto' ? keys : Number(keys)))

const model = await loadModel(values.model)
const all = await model.tokenize(readFileSync(values.file, 'utf8'), { addSpecial: false })
const text = all.slice(from, from + nPrompt + nRead)
if (text.length < nPrompt + nRead) throw new Error(`the text has ${all.length} tokens`)

const options = { model, nCtx: nPrompt + nRead, nBatch: 2048, nUbatch: 512, nThreads, flashAttn: 'on' }
const context = await createContext({ ...options, h2o: { decode: 'auto' } })
await context.prefill(text.slice(0, nPrompt), { logits: 'none' })
const state = await context.saveState()

const exact = await decode(context, 0)
const rows = [['llama.cpp, -fa on', await stock()]]
for (const keys of settings) rows.push([keys, await decode(context, keys)])

console.log(`${model.description}, ${nPrompt} tokens from ${from} on, ${nRead} behind\n`)
console.log(
  '| keys | perplexity | 2 s.e. | KL | KL, 99 % | top 1 |\n| ---: | ---: | ---: | ---: | ---: | ---: |',
)
for (const [name, found] of rows) console.log(`| ${name} | ${compare(found).join(' | ')} |`)

/** Log-probabilities of the vocabulary behind each token. */
async function decode(of, keys) {
  const rows = []
  for (let i = 0; i < nRead - 1; i++) {
    const { logits, call } = await of.decode(text[nPrompt + i], keys === null ? {} : { decode: keys })
    if (keys && call.decode === 0) throw new Error(`dense: ${call.decodeReason}`)
    rows.push(logSoftmax(logits))
  }
  await of.truncate(nPrompt)
  return rows
}

async function stock() {
  const other = await createContext({ ...options, upstreamProducts: true })
  await other.loadState(state)
  const rows = await decode(other, null)
  await other.dispose()
  return rows
}

function logSoftmax(logits) {
  let max = Number.NEGATIVE_INFINITY
  for (const x of logits) max = Math.max(max, x)
  let sum = 0
  for (const x of logits) sum += Math.exp(x - max)
  const lse = max + Math.log(sum)
  return logits.map((x) => x - lse)
}

function compare(found) {
  const kls = []
  const losses = []
  let same = 0
  found.forEach((row, i) => {
    const dense = exact[i]
    let kl = 0
    for (let j = 0; j < row.length; j++) kl += Math.exp(dense[j]) * (dense[j] - row[j])
    kls.push(kl)
    losses.push(dense[text[nPrompt + i + 1]] - row[text[nPrompt + i + 1]])
    same += Number(
      row.indexOf(row.reduce((a, b) => Math.max(a, b))) ===
        dense.indexOf(dense.reduce((a, b) => Math.max(a, b))),
    )
  })
  const n = losses.length
  const mean = losses.reduce((a, b) => a + b) / n
  const deviation = Math.sqrt(losses.reduce((a, b) => a + (b - mean) ** 2, 0) / n)
  const ratio = Math.exp(mean)
  return [
    ratio.toFixed(4),
    ((ratio * 2 * deviation) / Math.sqrt(n)).toFixed(4),
    (kls.reduce((a, b) => a + b) / n).toFixed(5),
    kls.toSorted((a, b) => a - b)[Math.floor(0.99 * n)].toFixed(3),
    (same / n).toFixed(3),
  ]
}

await context.dispose()
await model.dispose()
