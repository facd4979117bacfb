// Answers that are drafted from their prompts (--spec-type ngram-simple) beside the same one token at a time, by turns, on a model
// with a chat template.
//
// A prompt is read once. Each line has the tokens of both answers, medians of tokens/s, the ratio of pairs, that of CPU time a
// token, the drafted tokens that stayed, and whether the texts are the same.

import { readFileSync } from 'node:fs'
import { spread } from '../dist/cli/statistics.js'
import { createContext, loadModel } from '../dist/index.js'
import { parseFlags } from './flags.mjs'
import { books } from './language/books.mjs'

const HELP = `usage: node bench/drafts.mjs -m MODEL [options]

  -m, --model FILE   with a chat template
  --cases LIST       (edit,quote,summary,explain,free)
  --pairs N          of each case (3)
  --tokens N         of an answer, at most (200)
  -t, --threads N    (2)
`

const values = parseFlags(HELP, {
  cases: 'edit,quote,summary,explain,free',
  pairs: 3,
  tokens: 200,
  threads: 2,
})

const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
const sources = ['operation-queue', 'places', 'stop-strings', 'listener', 'grammar', 'utf8-stream', 'history']
const files = sources.map((name) => `// src/ts/${name}.ts\n${read(`src/ts/${name}.ts`)}`).join('\n\n')
const chapter = books()[0].texts[0].slice(0, 14_000)
const page = read('docs/serving.md').slice(0, 13_000)

const questions = {
  edit: [
    `${files}\n\nIn src/ts/stop-strings.ts rename the class StopStrings to StopTexts, and print the whole file src/ts/stop-strings.ts again with the change. Answer with the code alone.`,
    `${files}\n\nAdd a JSDoc comment to every method of src/ts/places.ts and print the whole file again.`,
    `${files}\n\nIn src/ts/operation-queue.ts log every turn by console.log, and print the changed file.`,
  ],
  quote: [
    `${chapter}\n\nQuote, word for word, the first three paragraphs of this chapter.`,
    `${page}\n\nWhich flags does the server have? List them as the text does, word for word.`,
  ],
  summary: [`${chapter}\n\nSummarise this text in your own words.`, `${page}\n\nSummarise this page.`],
  explain: [`${files}\n\nExplain what src/ts/history.ts does.`],
  free: [`${chapter.slice(0, 3000)}\n\nWrite a poem about a lighthouse.`],
}

const { threads: nThreads, tokens: nPredict } = values
const model = await loadModel(values.model)
const context = await createContext({ model, nCtx: 8192, nThreads, nThreadsBatch: nThreads })

for (const name of values.cases.split(',')) {
  for (const [i, content] of questions[name].entries()) {
    const { prompt } = model.applyChatTemplate([{ role: 'user', content }])
    const tokens = model.tokenize(prompt, { parseSpecial: true })
    const before = await context.prefill(tokens.slice(0, -1), { logits: 'none' })
    for (const temperature of [0, 0.7]) {
      console.log(
        `${name} ${i + 1}, temperature ${temperature}: ${await compare(before, tokens.at(-1), temperature)}`,
      )
    }
  }
}

async function compare(from, last, temperature) {
  const runs = { none: [], 'ngram-simple': [] }
  for (let pair = 0; pair < values.pairs; pair++) {
    const order = pair % 2 === 0 ? Object.keys(runs) : Object.keys(runs).toReversed()
    for (const specType of order) {
      runs[specType].push(await answer([last], { from, nPredict, temperature, seed: 1, specType }))
    }
  }
  const { none: plain, 'ngram-simple': drafted } = runs
  const of = (ratio) => spread(plain.map((one, i) => ratio(drafted[i], one)))
  const speed = of((a, b) => a.speed / b.speed)
  const [{ text, n }, { text: other, n: nOther, timings }] = [plain[0], drafted[0]]
  return [
    `${n} and ${nOther} tokens`,
    [plain, drafted]
      .map((all) => spread(all.map((one) => one.speed)).median.toFixed(1))
      .join(' -> ')
      .concat(' tok/s'),
    `${speed.median.toFixed(2)} (${speed.min.toFixed(2)} .. ${speed.max.toFixed(2)})`,
    `CPU ${of((a, b) => a.cpu / b.cpu).median.toFixed(2)}`,
    `${timings.draftNAccepted} of ${timings.draftN} stayed`,
    text === other ? 'the same text' : 'another text',
  ].join(', ')
}

async function answer(prompt, options) {
  const cpu = process.cpuUsage()
  const start = performance.now()
  const { predicted, text, timings } = await context.generate(prompt, options).result()
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { speed: (predicted * 1000) / ms, cpu: (user + system) / predicted, text, n: predicted, timings }
}

await context.dispose()
await model.dispose()
