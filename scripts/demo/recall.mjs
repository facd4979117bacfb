// Are the answers still right? The recall model reads the whole prompt, question included, and answers greedily.

import { builtInModel } from '../../dist/cli/built-in-model.js'
import { createContext, loadModel } from '../../dist/index.js'
import { PROJECT_ROOT } from '../lib/layout.mjs'
import { answer, how, ratios, seconds } from './answer.mjs'
import { FACTS, haystack } from './haystack.mjs'

export async function recall({ tokens, settings, ways }) {
  const model = await loadModel(builtInModel())
  const count = (text) => model.tokenize(text).length
  const prompts = FACTS.map((fact) => ({ ...fact, text: haystack(PROJECT_ROOT, tokens, fact, count) }))
  console.log(`the recall model (${model.description}), asked at the end of ${count(prompts[0].text)} tokens`)

  const times = {}
  for (const [way, h2o] of Object.entries(ways)) {
    times[way] = []
    const context = await createContext({ model, nCtx: tokens + 32, ...settings, h2o })
    for (const { name, text, answer: expected } of prompts) {
      const { text: given, prefill, ttft } = await answer(context, text, 8)
      if (times[way].length === 0) console.log(`${way}: ${how(prefill, context)}`)
      const verdict = given.startsWith(expected) ? 'right' : `wrong: it is${expected}`
      const line = given.split('\n')[0].trim()
      console.log(`  ${`${name}:`.padEnd(28)} ${line} (${verdict}), first token after ${seconds(ttft)}`)
      times[way].push(ttft)
    }
    await context.dispose()
  }
  await model.dispose()
  console.log(`${ratios(times)}\n`)
}
