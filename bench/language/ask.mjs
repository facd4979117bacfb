// One item in one setting: prefill, then a greedy answer.

import { argmax } from '../../dist/cli/statistics.js'
import { contextOptions, logOf } from '../quality/reader.mjs'
import { promptOf } from './chat.mjs'
import { otherDense } from './settings.mjs'

/**
 * @param {Context} ctx of open()  @param {ReturnType<typeof import('./items.mjs').makeItem>} item
 * @returns {Promise<{ answers: boolean[], seconds: number, tokens: number, text: string }>}
 *   answers: whether each is right. seconds: until the first token of the answer, with all of the text read for it
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
  await generation.next()
  const seconds = (performance.now() - start) / 1000
  const summary = await generation.result()
  const said = summary.text.toLowerCase()
  const answers = item.answers.map((answer) => said.includes(answer.toLowerCase()))
  return { answers, seconds, tokens: item.tokens, text: summary.text }
}

/**
 * Answers inside of a prompt: whether all of their tokens are the likeliest where they stand, and how likely they are.
 * The prompt is read in calls of a few chunks, so that the logits of one call fit into memory: of the same chunks the
 * sets are the same.
 *
 * @param {ReturnType<typeof import('./inside.mjs').makeInside>} item
 * @returns {Promise<{ answers: boolean[], logs: number[], seconds: number, tokens: number }>}
 *   logs: log-probability of each answer. seconds: of the whole prefill, with its logits
 */
export async function askInside(ctx, { ids, asks }) {
  const answers = asks.map(() => true)
  const logs = asks.map(() => 0)
  const step = 3 * ctx.nUbatch
  let seconds = 0
  for (let from = 0; from < ids.length; ) {
    // what is left must not be so short that it is dense
    const to = ids.length - from - step > ctx.nUbatch ? from + step : ids.length
    const inside = (i) => i >= from && i < to
    const isAsked = asks.some(({ at, answer }) => answer.some((_, i) => inside(at + i - 1)))
    const start = performance.now()
    const { logits } = await ctx.prefill(ids.slice(from, to), {
      append: from > 0,
      reuse: false,
      logits: isAsked ? 'all' : 'none',
    })
    seconds += (performance.now() - start) / 1000
    for (const [n, { at, answer }] of asks.entries()) {
      for (const [i, token] of answer.entries()) {
        const place = at + i - 1
        if (!inside(place)) continue
        const row = rowOf(logits, place - from, to - from)
        answers[n] &&= argmax(row) === token
        logs[n] += logOf(row, token)
      }
    }
    from = to
  }
  return { answers, logs, seconds, tokens: ids.length }
}

/**
 * The last questions of such a prompt, each alone. Of the text before it, whole chunks that the question before has read
 * the same way are not read again.
 *
 * @param {ReturnType<typeof import('./inside.mjs').makeInside>} item
 * @param {number} count  questions
 * @param {'end' | 'turn'} place  the end of the prompt, or a call of its own behind it
 * @returns {Promise<{ answers: boolean[], logs: number[], tokens: number }>}
 */
export async function askAlone(ctx, { ids, asks }, count, place) {
  const answers = []
  const logs = []
  for (const { from, at, answer } of asks.slice(-count)) {
    if (place === 'turn') await ctx.prefill(ids.slice(0, from), { logits: 'none' })
    const { logits } = await ctx.prefill(ids.slice(place === 'turn' ? from : 0, at), {
      append: place === 'turn',
      logits: 'last',
    })
    const rest = answer.slice(0, -1)
    const behind = rest.length > 0 ? (await ctx.prefill(rest, { append: true, logits: 'all' })).logits : null
    const rows = [logits, ...Array.from(rest, (_, i) => rowOf(behind, i, rest.length))]
    answers.push(answer.every((token, i) => argmax(rows[i]) === token))
    logs.push(answer.reduce((sum, token, i) => sum + logOf(rows[i], token), 0))
  }
  return { answers, logs, tokens: ids.length }
}

function rowOf(logits, i, n) {
  const width = logits.length / n
  return logits.subarray(i * width, (i + 1) * width)
}

/** A context for one setting and length; without a setting it is dense. */
export function open(api, model, setting, length, threads) {
  const sparse = setting === otherDense ? null : setting
  return api.createContext(
    contextOptions(sparse, {
      ...{ model, nCtx: length, threads, flashAttn: sparse ? 'off' : 'auto' },
      upstreamProducts: setting === otherDense,
    }),
  )
}
