// What a context that has read nothing else answers: the rule that the server is held to.

import { createContext, loadModel } from '../../dist/index.js'
import { optionsOf } from '../../dist/server/fields.js'
import { chatPrompt, promptOptions } from '../../dist/server/prompt.js'
import { TEMPLATE } from './conversations.mjs'

/** The server's default. */
const DENSE_TAIL = 64

export async function freshAnswers({ model: path, ...sizes }, bodies) {
  const model = await loadModel(path)
  const answers = []
  for (const body of bodies) {
    const context = await createContext({ model, ...sizes, h2o: { denseTail: DENSE_TAIL }, onWarning() {} })
    const settings = { model, context, template: TEMPLATE }
    const options = { temperature: 0, ignoreEos: true, ...optionsOf(body) }
    const prompt = await chatPrompt(body, settings, new AbortController().signal, options)
    let text = ''
    for await (const piece of context.generate(prompt.tokens, promptOptions(prompt, options)))
      text += piece.text
    answers.push(text)
    await context.dispose()
  }
  await model.dispose()
  return answers
}
