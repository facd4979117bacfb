// One item in one setting: prefill, then a greedy answer.

import { argmax } from '../../dist/cli/statistics.js'
import { contextOptions, logOf } from '../quality/reader.mjs'
import { promptOf } from './chat.mjs'
import { divergence, headOf } from './divergence.mjs'
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
 * @param {Heads} [dense]  what dense attention said here; without, this is dense attention
 * @returns {Promise<{ answers: boolean[], logs: number[], heads?: Heads, kl?: number[], seconds: number, tokens: number }>}
 *   logs: log-probability of each answer. heads: of dense. kl: from dense, mean over an answer's tokens. seconds: of the
 *   whole prefill, with its logits
 * @typedef {ReturnType<typeof headOf>[][]} Heads  by answer and token
 */
export async function askInside(ctx, { ids, asks }, dense) {
  const found = asks.map(({ answer }) => new Answer(answer))
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
      for (const i of answer.keys()) {
        const place = at + i - 1
        if (inside(place)) found[n].read(i, rowOf(logits, place - from, to - from), dense?.[n])
      }
    }
    from = to
  }
  return { ...summary(found, dense), seconds, tokens: ids.length }
}

/**
 * The last questions of such a prompt, each alone. Of the text before it, whole chunks that the question before has read
 * the same way are not read again.
 *
 * @param {ReturnType<typeof import('./inside.mjs').makeInside>} item
 * @param {number} count  questions
 * @param {'end' | 'turn'} place  the end of the prompt, or a call of its own behind it
 * @param {Heads} dense  what dense attention said inside
 * @returns {Promise<{ answers: boolean[], logs: number[], kl: number[], tokens: number }>}
 */
export async function askAlone(ctx, { ids, asks }, count, place, dense) {
  const found = []
  for (const [n, { from, at, answer }] of [...asks.entries()].slice(-count)) {
    if (place === 'turn') await ctx.prefill(ids.slice(0, from), { logits: 'none' })
    const { logits } = await ctx.prefill(ids.slice(place === 'turn' ? from : 0, at), {
      append: place === 'turn',
      logits: 'last',
    })
    const rest = answer.slice(0, -1)
    const behind = rest.length > 0 ? (await ctx.prefill(rest, { append: true, logits: 'all' })).logits : null
    const one = new Answer(answer)
    one.read(0, logits, dense[n])
    for (const i of rest.keys()) one.read(i + 1, rowOf(behind, i, rest.length), dense[n])
    found.push(one)
  }
  return { ...summary(found, dense), tokens: ids.length }
}

/** What a setting says of an answer, token by token. */
class Answer {
  isRight = true
  log = 0
  heads = []
  #answer
  #kl = 0

  constructor(answer) {
    this.#answer = answer
  }

  get kl() {
    return this.#kl / this.#answer.length
  }

  read(i, logits, dense) {
    const token = this.#answer[i]
    this.isRight &&= argmax(logits) === token
    this.log += logOf(logits, token)
    if (dense) this.#kl += divergence(dense[i], logits)
    else this.heads[i] = headOf(logits)
  }
}

function summary(found, dense) {
  return {
    answers: found.map(({ isRight }) => isRight),
    logs: found.map(({ log }) => log),
    ...(dense ? { kl: found.map(({ kl }) => kl) } : { heads: found.map(({ heads }) => heads) }),
  }
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
