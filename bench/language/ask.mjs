// One item in one setting: prefill, then a greedy answer.

import { contextOptions } from '../quality/reader.mjs'
import { promptOf } from './chat.mjs'

/**
 * @param {Context} ctx of open()  @param {ReturnType<typeof import('./items.mjs').makeItem>} item
 * @returns {Promise<{ right: number, n: number, seconds: number, tokens: number, text: string }>}
 *   seconds: until the first token of the answer, with all of the text read for it
 */
export async function ask(ctx, item, place, chat) {
  const { text, asked } = promptOf(item, place, chat)
  const options = { nPredict: item.predict, temperature: 0, parseSpecial: true }
  const anew = { parseSpecial: true, reuse: false } // what another place of the question has left is no head start
  const start = performance.now()
  if (asked !== '') await ctx.prefill(text, { ...anew, logits: 'none' })
  const generation =
    asked === ''
      ? ctx.generate(text, { ...options, ...anew })
      : ctx.generate(asked, { ...options, append: true })
  let seconds = 0
  let summary
  for (;;) {
    const { done, value } = await generation.next()
    seconds ||= (performance.now() - start) / 1000
    if (done) {
      summary = value
      break
    }
  }
  const said = summary.text.toLowerCase()
  const right = item.answers.filter((answer) => said.includes(answer.toLowerCase())).length
  return { right, n: item.answers.length, seconds, tokens: item.tokens, text: summary.text }
}

/** A context for one setting and length; without a setting it is dense. */
export function open(api, model, setting, length, threads) {
  return api.createContext(
    contextOptions(setting, { model, nCtx: length, threads, flashAttn: setting ? 'off' : 'auto' }),
  )
}
