/**
 * Accuracy of a model on the items of eval_items.py: greedy answers, all tokens of which must be right.
 *
 *   python3 model/eval_items.py > items.jsonl
 *   node model/evaluate.mjs MODEL items.jsonl [--h2o L,H,S] [--json FILE]
 *
 * Dense by default. With --h2o the whole prompt, question included, is prefilled in chunks of S.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createContext } from '../dist/index.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { h2o: { type: 'string' }, json: { type: 'string' }, threads: { type: 'string' } },
})
const [model, file] = positionals
const items = readFileSync(file, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line))
const [local, heavy, chunk] = (values.h2o ?? '').split(',').map(Number)
const ctx = await createContext({
  model,
  nCtx: Math.max(...items.map((item) => item.length)) + 256,
  nBatch: 4096,
  nUbatch: chunk ?? 512,
  ...(values.threads && { nThreads: Number(values.threads), nThreadsBatch: Number(values.threads) }),
  h2o: values.h2o ? { local, heavy } : false,
})

let context
let position = 0
const results = []
for (const { task, length, depth, chance, ...item } of items) {
  const question = ctx.model.tokenize(item.question, { addSpecial: false })
  const answer = Array.from(ctx.model.tokenize(item.answer, { addSpecial: false }))
  const logits = values.h2o
    ? await readAll(item.context, question)
    : await readQuestion(item.context, question)
  const given = await answerGreedily(logits, answer.length)
  const right = given.every((token, i) => token === answer[i])
  results.push({ task, length, depth, chance, right, first: given[0] === answer[0] })
}
await ctx.dispose()
report(results)
if (values.json) writeFileSync(values.json, JSON.stringify(results))

/** The context is kept from item to item. */
async function readQuestion(text, question) {
  if (text !== context) {
    await ctx.clear()
    const tokens = ctx.model.tokenize(text)
    await ctx.prefill(tokens)
    context = text
    position = tokens.length
  }
  await ctx.truncate(position)
  return (await ctx.decode(question)).logits
}

async function readAll(text, question) {
  await ctx.clear()
  return (await ctx.prefill([...ctx.model.tokenize(text), ...question])).logits
}

async function answerGreedily(first, count) {
  const tokens = [argmax(first)]
  while (tokens.length < count) tokens.push(argmax((await ctx.decode(tokens.at(-1))).logits))
  return tokens
}

function argmax(logits) {
  let best = 0
  for (let i = 1; i < logits.length; i++) if (logits[i] > logits[best]) best = i
  return best
}

/** Per task: accuracy by length, then by depth over all lengths. */
function report(rows) {
  const unique = (of) => [...new Set(rows.map(of))].sort((a, b) => a - b)
  const lengths = unique((row) => row.length)
  const bins = [0, 0.2, 0.4, 0.6, 0.8]
  const bin = (row) => bins.findLast((low) => row.depth >= low)
  const percent = (some) =>
    some.length
      ? `${((100 * some.filter((row) => row.right).length) / some.length).toFixed(1)}`.padStart(6)
      : '     -'
  console.log(
    `task          ${lengths.map((n) => `${n}`.padStart(6)).join(' ')} | depth ${bins.join(' ')} | chance`,
  )
  for (const task of new Set(rows.map((row) => row.task))) {
    const of = rows.filter((row) => row.task === task)
    const byLength = lengths.map((n) => percent(of.filter((row) => row.length === n)))
    const byDepth = bins.map((low) => percent(of.filter((row) => bin(row) === low)))
    const chance = (100 * of.reduce((sum, row) => sum + row.chance, 0)) / of.length
    console.log(`${task.padEnd(13)} ${byLength.join(' ')} | ${byDepth.join(' ')} | ${chance.toFixed(1)}`)
  }
}
