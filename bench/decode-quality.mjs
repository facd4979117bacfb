// What sparse decoding loses: a long text is read, then what follows it is decoded token by token as it stands, once with all
// keys and once with each number of keys, over the same cache. Shown are the perplexity of what follows over that with all
// keys, the mean and the 99th percentile of the KL divergence from it, and how often the likeliest token is the same. The first
// row is what llama.cpp's attention with -fa on differs from our exact kernel, which sums in F32.
//
// With --generate what follows is not the text, but what the model itself goes on with at temperature 1, by so many keys.

import { readFileSync } from 'node:fs'
import { deviation } from '../dist/cli/compare/deviation.js'
import { Tally } from '../dist/cli/compare/tally.js'
import { createContext, loadModel } from '../dist/index.js'
import { keysOf, parseFlags } from './flags.mjs'

const HELP = `usage: node bench/decode-quality.mjs -m MODEL --file TEXT [options]

  -m, --model FILE, --file TEXT
  --from N           tokens of the text that are left out (0)
  --prompt N         tokens that are read (8000)
  --tokens N         that are decoded (128)
  --keys LIST        of sparse decoding (128,256,512,auto)
  --generate KEYS    the model goes on by so many keys, in place of the text
  -t, --threads N    (2)
`

const values = parseFlags(HELP, {
  file: undefined,
  from: 0,
  prompt: 8000,
  tokens: 128,
  keys: '128,256,512,auto',
  generate: '',
  threads: 2,
})
const { prompt: nPrompt, tokens: nRead, threads: nThreads, from } = values
const settings = values.keys.split(',').map(keysOf)

const model = await loadModel(values.model)
const all = await model.tokenize(readFileSync(values.file, 'utf8'), { addSpecial: false })
const text = all.slice(from, from + nPrompt + nRead)
if (text.length < nPrompt + nRead) throw new Error(`the text has ${all.length} tokens`)

const options = { model, nCtx: nPrompt + nRead, nBatch: 2048, nUbatch: 512, nThreads, flashAttn: 'on' }
const context = await createContext({ ...options, h2o: { decode: 'auto' } })
await context.prefill(text.slice(0, nPrompt), { logits: 'none' })
const state = await context.saveState()
if (values.generate) await goOn(keysOf(values.generate))

const exact = await decode(context, 0)
const rows = [['llama.cpp, -fa on', await stock()]]
for (const keys of settings) rows.push([keys, await decode(context, keys)])

console.log(`${model.description}, ${nPrompt} tokens from ${from} on, ${nRead} behind\n`)
console.log(
  '| keys | perplexity | 2 s.e. | KL | KL, 99 % | top 1 |\n| ---: | ---: | ---: | ---: | ---: | ---: |',
)
for (const [name, found] of rows) console.log(`| ${name} | ${figures(found).join(' | ')} |`)

async function goOn(keys) {
  const sampling = { temperature: 1, samplers: ['temperature'], seed: 1, ignoreEos: true }
  const first = { from: nPrompt - 1, denseTail: 1, addSpecial: false }
  const options = { ...sampling, ...first, decode: keys, nPredict: nRead }
  let at = nPrompt
  for await (const { token } of context.generate(text.slice(nPrompt - 1, nPrompt), options))
    text[at++] = token
  await context.loadState(state) // windows do not go back so far
}

/** Logits behind each token. */
async function decode(of, keys) {
  const rows = []
  for (let i = 0; i < nRead - 1; i++) {
    const { logits, call } = await of.decode(text[nPrompt + i], keys === null ? {} : { decode: keys })
    if (keys && call.decode === 0) throw new Error(`dense: ${call.decodeReason}`)
    rows.push(Float32Array.from(logits))
  }
  await of.loadState(state)
  return rows
}

async function stock() {
  const other = await createContext({ ...options, upstreamProducts: true })
  await other.loadState(state)
  const rows = await decode(other, null)
  await other.dispose()
  return rows
}

function figures(found) {
  const tally = new Tally()
  for (const [i, row] of found.entries())
    tally.add(deviation(exact[i], row, 0, row.length, text[nPrompt + i + 1]))

  const { ppl_ratio: ratio, kld, same_top_percent: top } = tally.figures()
  return [
    ratio.value.toFixed(4),
    (2 * ratio.uncertainty).toFixed(4),
    kld.mean.value.toFixed(5),
    kld.p99.toFixed(3),
    (top.value / 100).toFixed(3),
  ]
}

await context.dispose()
await model.dispose()
