// How long does it take? A model of Qwen3-0.6B's layer shape with random weights and fewer layers.

import { demoModel } from '../../dist/cli/bench/demo-model.js'
import { createContext, loadModel } from '../../dist/index.js'
import { demoText } from '../../dist/model-maker/index.js'
import { answer, how, ratios, seconds } from './answer.mjs'

export async function speed({ tokens, settings, ways }, layers) {
  const model = await loadModel(await demoModel(layers, console.log))
  const text = demoText(tokens)
  console.log(`${layers} layers of Qwen3-0.6B's shape with random weights, ${tokens} tokens`)

  const times = {}
  for (const [way, h2o] of Object.entries(ways)) {
    const context = await createContext({ model, nCtx: tokens + 1, ...settings, h2o })
    await context.prefill(text.slice(0, 32), { logits: 'none' }) // the first pass reads the weights from the disk
    const { prefill, ttft } = await answer(context, text, 1)
    await context.dispose()
    console.log(`${way}: ${how(prefill, context)}, first token after ${seconds(ttft)}`)
    times[way] = [ttft]
  }
  await model.dispose()
  console.log(ratios(times))
}
