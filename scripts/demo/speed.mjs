// How long does it take? A model of Qwen3-0.6B's layer shape with random weights and fewer layers.

import { demoModel } from '../../dist/cli/bench/demo-model.js'
import { createContext, loadModel } from '../../dist/index.js'
import { demoText } from '../../dist/model-maker/index.js'
import { seconds, sooner, table } from '../lib/table.mjs'
import { ask, askBehind } from './ask.mjs'

const QUESTION = 24 // tokens

export async function speed({ tokens, settings, budget }, layers) {
  console.log(`
2. The time on a bigger model: ${layers} layers of Qwen3-0.6B's shape, ${tokens} tokens.
   Its weights are random, so there is nothing to ask it.
`)
  const model = await loadModel(await demoModel(layers, console.log))
  const text = demoText(tokens)
  const measure = async (h2o) => {
    const context = await createContext({ model, nCtx: tokens + QUESTION + 1, ...settings, h2o })
    await context.prefill(text.slice(0, 32), { logits: 'none' }) // the first pass reads the weights from the disk
    const document = await ask(context, text, 1)
    const question = await askBehind(context, tokens, text.slice(0, QUESTION), 1)
    await context.dispose()
    return { document: document.ms, question: question.ms }
  }
  const dense = await measure(false)
  const h2o = await measure(budget)
  await model.dispose()

  console.log(
    table([
      ['time to the first token', 'dense', 'H2O'],
      ['of the document', seconds(dense.document), seconds(h2o.document)],
      [`of ${QUESTION} tokens behind it`, seconds(dense.question), seconds(h2o.question)],
    ]),
  )
  console.log(`\nThe first token came ${sooner(dense.document, h2o.document)} as with dense attention.`)
}
