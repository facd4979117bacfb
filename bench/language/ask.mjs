// One item in one setting: prefill, then a greedy answer.

import { contextOptions } from '../quality/reader.mjs'
import { promptOf } from './chat.mjs'

/**
 * @param {typeof import('../../dist/index.js')} api  @param {object | null} setting null: dense
 * @returns {Promise<{ right: number, n: number, seconds: number, tokens: number, path: string, text: string }>}
 *   seconds: of the prefill of the text, before an answer is possible
 */
export async function ask(ctx, item, place, chat) {
  const { text, asked } = promptOf(item, place, chat)
  const options = { nPredict: item.predict, temperature: 0, parseSpecial: true }
  const start = performance.now()
  if (asked !== '') await ctx.prefill(text, { logits: 'none', parseSpecial: true })
  const generation =
    asked === '' ? ctx.generate(text, options) : ctx.generate(asked, { ...options, append: true })
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

/** A context for one setting and length. */
export function open(api, model, setting, length, threads) {
  return api.createContext(
    contextOptions(setting, { model, nCtx: length, threads, flashAttn: setting ? 'off' : 'auto' }),
  )
}
