// Decoding with H2O's exact kernel and sparse, against stock's attention with and without flash attention, on one model in one
// run.
//
// Behind the same prompt each context decodes the same tokens one by one, or with --question one call of so many tokens, in
// turns. The prompt is read sparse, once for all that keep values in the same order. Figures are the keys that a head chose of
// the cache, and medians: tokens/s, CPU ms per token, and the ratios of CPU time within a turn. With a quantised cache llama.cpp
// has flash attention alone.

import { demoModel } from '../dist/cli/bench/demo-model.js'
import { spread } from '../dist/cli/statistics.js'
import { createContext, loadModel } from '../dist/index.js'
import { demoText } from '../dist/model-maker/index.js'
import { keysOf, parseFlags } from './flags.mjs'

const HELP = `usage: node bench/decode.mjs [options]

  -m, --model FILE   (the demo's four layers)
  --pairs N          turns (8)
  --prompt LIST      tokens before what is decoded (3000)
  --tokens N         one by one (32)
  --question N       or so many in one call (0)
  -t, --threads N    (1)
  --cache TYPE       of keys and values (f16)
  --keys LIST        of sparse decoding (auto)
  --without-stock    leaves llama.cpp's attention out
`

const values = parseFlags(HELP, {
  model: '',
  pairs: 8,
  prompt: '3000',
  tokens: 32,
  question: 0,
  threads: 1,
  cache: 'f16',
  keys: 'auto',
  'without-stock': false,
})
const { pairs, tokens: nTokens, question: nQuestion, threads, cache } = values

const sparse = values.keys
  .split(',')
  .map((keys) => [`sparse, ${keys} keys`, { h2o: { decode: keysOf(keys) } }])

const contenders = {
  exact: {},
  ...Object.fromEntries(nQuestion ? [] : sparse),
  ...(values['without-stock'] ? {} : stock()),
}

function stock() {
  return {
    'stock, -fa on': { upstreamProducts: true, flashAttn: 'on' },
    ...(['f32', 'f16', 'bf16'].includes(cache)
      ? { 'stock, -fa off': { upstreamProducts: true, flashAttn: 'off' } }
      : {}),
  }
}

const model = await loadModel(values.model || (await demoModel(4, console.error)))

for (const nPrompt of values.prompt.split(',').map(Number)) await compare(nPrompt)
await model.dispose()

async function compare(nPrompt) {
  const nRead = nQuestion || nTokens
  const prompt = model.tokenize(demoText(8 * nPrompt, 1), { addSpecial: false }).slice(0, nPrompt) // by bytes, or by words
  if (prompt.length < nPrompt) throw new Error(`the text has ${prompt.length} tokens`)
  const settings = {
    ...{ model, nCtx: nPrompt + nRead, nBatch: 2048, nUbatch: 512 },
    ...{ nThreads: threads, nThreadsBatch: threads, typeK: cache, typeV: cache },
  }

  const contexts = {}
  const states = {}
  for (const [name, own] of Object.entries(contenders)) {
    const order = own.flashAttn ?? 'on'
    contexts[name] = await createContext({ ...settings, ...own })
    if (states[order]) await contexts[name].loadState(states[order])
    else await contexts[name].prefill(prompt, { logits: 'none' })
    states[order] ??= await contexts[name].saveState()
    await read(contexts[name], prompt.length, nRead) // once for what is made on first use
  }

  const names = Object.keys(contexts)
  const results = Object.fromEntries(names.map((name) => [name, []]))
  for (let pair = 0; pair < pairs; pair++) {
    const order = pair % 2 === 0 ? names : names.toReversed()
    for (const name of order) results[name].push(await read(contexts[name], prompt.length, nRead))
  }

  for (const name of names) {
    const speed = spread(results[name].map(({ ms }) => (nRead * 1000) / ms)).median
    const cpu = spread(results[name].map(({ cpuMs }) => cpuMs / nRead)).median
    const { median, min, max } = spread(results[name].map(({ cpuMs }, i) => cpuMs / results.exact[i].cpuMs))
    const keys = results[name][0].keys || 'all'
    const ratio = `${median.toFixed(2)} (${min.toFixed(2)} .. ${max.toFixed(2)})`
    console.log(
      `| ${prompt.length} | ${name} | ${keys} | ${speed.toFixed(1)} tok/s | ${cpu.toFixed(2)} ms of CPU a token | ${ratio} |`,
    )
  }
  for (const context of Object.values(contexts)) await context.dispose()
}

async function read(context, nPrompt, n) {
  const cpu = process.cpuUsage()
  const start = performance.now()
  const tokens = Array.from({ length: n }, (_, i) => 65 + (i % 26))
  let call
  if (nQuestion) ({ call } = await context.decode(tokens))
  else for (const token of tokens) ({ call } = await context.decode(token))
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  await context.truncate(nPrompt)
  return { ms, cpuMs: (user + system) / 1000, keys: call.decode }
}
