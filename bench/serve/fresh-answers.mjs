// What a context that has read nothing else answers: the rule that the server is held to. -> for each body its text, and
// of each token the text so far and how much likelier it was than the next best

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
    const given = { ...promptOptions(prompt, options), logprobs: 3 }
    let text = ''
    const tokens = []
    for await (const piece of context.generate(prompt.tokens, given)) {
      const { token, logprob, topLogprobs } = piece
      const next = topLogprobs.find((other) => other.token !== token && other.logprob <= logprob) // above it is what may not be
      tokens.push({ before: text, lead: logprob - next.logprob })
      text += piece.text
    }
    answers.push({ text, tokens })
    await context.dispose()
  }
  await model.dispose()
  return answers
}
