// Are the answers right? The recall model reads a document once and is asked about it; then both in one prompt.

import { builtInModel } from '../../dist/cli/built-in-model.js'
import { createContext, loadModel } from '../../dist/index.js'
import { PROJECT_ROOT } from '../lib/layout.mjs'
import { seconds, sooner, table } from '../lib/table.mjs'
import { ask, askBehind, read } from './ask.mjs'
import { documentOf, QUESTIONS } from './document.mjs'

const ANSWER = 8 // tokens

export async function recall({ tokens, settings, budget }) {
  const model = await loadModel(builtInModel())
  const count = (text) => model.tokenize(text).length
  const document = documentOf(PROJECT_ROOT, tokens, count)
  const open = (h2o) => createContext({ model, nCtx: tokens + 64, ...settings, h2o })

  console.log(`1. Right answers: ${count(document)} tokens of documentation with facts hidden in them,
   read by the model in the box (1 M parameters, trained to find such facts).

Read the document once, then ask. Every question sees the whole document:
`)
  const dense = await readAndAsk(await open(false), document)
  const h2o = await readAndAsk(await open(budget), document)
  const rows = QUESTIONS.map(({ question, answer }, i) => [
    question,
    answer,
    ...[dense, h2o].map(({ answers }) => verdict(answers[i], answer)),
  ])
  console.log(table([HEAD, ['read the document', '', seconds(dense.ms), seconds(h2o.ms)], ...rows], WORDS))

  console.log(`
H2O read it ${sooner(dense.ms, h2o.ms)} as dense attention.

Or ask in the same prompt, whose last ${budget.denseTail} tokens see all of it:
`)
  const [{ question, answer }] = QUESTIONS
  const whole = await askAtOnce(await open(false), document + question)
  const sparse = await askAtOnce(await open(budget), document + question)
  const row = [`the document, ${question}`, answer, verdict(whole, answer), verdict(sparse, answer)]
  console.log(table([HEAD, row], WORDS))

  await model.dispose()
}

const HEAD = ['', 'expected', 'dense', 'H2O']
const WORDS = { words: 2 }

const verdict = ({ text, ms }, answer) =>
  `${text.startsWith(answer) ? 'ok' : `wrong (${text})`} ${seconds(ms)}`

async function readAndAsk(context, document) {
  const { end, ms } = await read(context, document)
  const answers = []
  for (const { question } of QUESTIONS) answers.push(await askBehind(context, end, question, ANSWER))
  await context.dispose()
  return { ms, answers }
}

async function askAtOnce(context, prompt) {
  const answered = await ask(context, prompt, ANSWER)
  await context.dispose()
  return answered
}
