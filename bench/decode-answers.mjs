// Whether sparse decoding finds the answers that decoding with all keys finds: a text with facts in it is read, and each question
// about a fact far back is asked behind it. An answer counts if all of its tokens are the likeliest where they stand. Each
// question is asked twice with each number of keys: in one call, which reads all keys, and token by token.
//
// The texts are those of `npm run quality:language -- --inside`, the questions the last ones of each. The recall model, which
// knows other tasks, is asked those of `npm run quality`.

import { argmax } from '../dist/cli/statistics.js'
import { createContext, loadModel } from '../dist/index.js'
import { PROJECT_ROOT } from '../scripts/lib/layout.mjs'
import { modelNamed, whereIs } from '../scripts/lib/models.mjs'
import { keysOf, parseFlags } from './flags.mjs'
import { books } from './language/books.mjs'
import { insideTasks, makeInside } from './language/inside.mjs'
import { heldOut } from './quality/held-out.mjs'
import { makeItems } from './quality/items.mjs'
import { table } from './quality/markdown.mjs'

const RECALL = 'recall'
const names = insideTasks.map(({ name }) => name)
const recallNames = ['needle', 'records-near', 'variables-1', 'copy']
const HELP = `usage: node bench/decode-answers.mjs [options]

  -m, --model NAME   ${RECALL}, or of those of npm run models (smollm2-135m)
  --length N         tokens of a text (8192)
  --questions N      of each text (20); ${RECALL} has five
  --items N          texts of each task (1)
  --tasks LIST       (${names.join(',')}; ${RECALL}: ${recallNames.join(',')})
  --keys LIST        of sparse decoding (512)
  -t, --threads N    (2)
`

const values = parseFlags(HELP, {
  model: 'smollm2-135m',
  length: 8192,
  questions: 20,
  items: 1,
  tasks: '',
  keys: '512',
  threads: 2,
})
const { length, questions, items, threads: nThreads } = values
const settings = [0, ...values.keys.split(',').map(keysOf)]
const isRecall = values.model === RECALL
const tasks = values.tasks === '' ? (isRecall ? recallNames : names) : values.tasks.split(',')

const model = await loadModel(
  isRecall ? `${PROJECT_ROOT}/model/recall-q8_0.gguf` : whereIs(modelNamed(values.model)),
)
const nCtx = length + 64 // a question of the recall model stands behind its text
// 'auto' makes no index where it is all keys
const context = await createContext({ model, nCtx, nThreads, h2o: { decode: settings[1] } })

/** By setting and way of asking, what was found of each question: the likeliest tokens and whether they are right. */
const found = settings.map(() => ({ call: [], tokens: [] }))

for (const { task, ids, asks } of isRecall ? recallTexts() : insideTexts()) {
  let read = 0
  for (const { from, question, answer } of asks.slice(-questions)) {
    if (from > read) {
      await context.prefill(ids.slice(read, from), { append: read > 0, reuse: false, logits: 'none' })
    }
    read = from
    for (const [i, keys] of settings.entries()) {
      for (const way of ['call', 'tokens']) {
        found[i][way].push(await ask(question, answer, keys, way))
        await context.truncate(from)
      }
    }
  }
  console.error(`${task}:\n${report()}\n`)
}

console.log(`${model.description}, ${length} tokens, ${found[0].call.length} questions\n\n${report()}`)

/** Texts with questions in them: each is asked behind the `from` tokens before it. */
function* insideTexts() {
  const essay = books()[0].texts[0]
  for (const task of tasks) {
    for (let index = 0; index < items; index++) {
      const { ids, asks } = makeInside(model, { seed: 1, essay }, task, length, index)
      const own = asks.map(({ from, at, answer }) => ({ from, question: ids.slice(from, at), answer }))
      yield { task, ids, asks: own }
    }
  }
}

/** Texts with questions behind them. */
function* recallTexts() {
  const cases = [{ tasks, lengths: [length], contexts: items }]
  for (const { task, ids, asks } of makeItems({ text: heldOut().text, chunk: 512, seed: 1 }, cases)) {
    yield { task, ids, asks: asks.map(({ question, answer }) => ({ from: ids.length, question, answer })) }
  }
}

/** The likeliest tokens where those of the answer stand. */
async function ask(question, answer, keys, way) {
  const likeliest = []
  let { logits } = way === 'call' ? await context.decode(question, { decode: 0 }) : await each(question, keys)
  for (const [i, token] of answer.entries()) {
    likeliest.push(argmax(logits))
    if (i + 1 < answer.length) ({ logits } = await each([token], keys))
  }
  return { likeliest: likeliest.join(), isRight: likeliest.join() === answer.join() }
}

async function each(tokens, keys) {
  let result
  for (const token of tokens) {
    result = await context.decode(token, { decode: keys })
    const { decode, decodeReason } = result.call
    if (keys !== 0 && decode === 0) throw new Error(`all keys were read: ${decodeReason}`)
  }
  return result
}

/** Of all questions so far. */
function report() {
  const rows = settings.flatMap((keys, i) =>
    Object.entries(found[i]).map(([way, own]) => row(keys, way, own, found[0][way])),
  )
  return table(['keys', 'asked', 'right', 'lost', 'won', 'the same tokens'], rows)
}

function row(keys, way, own, exact) {
  const number = (isSo) => own.filter((one, i) => isSo(one, exact[i])).length
  return [
    keys === 0 ? 'all' : keys,
    way === 'call' ? 'in a call' : 'token by token',
    number(({ isRight }) => isRight),
    number((one, other) => other.isRight && !one.isRight),
    number((one, other) => one.isRight && !other.isRight),
    number((one, other) => one.likeliest === other.likeliest),
  ]
}

await context.dispose()
await model.dispose()
