// A context that reads a text and is asked about it, in one setting.

import { argmax } from '../../dist/cli/statistics.js'

/** @param {Setting | null} setting null: dense */
export function contextOptions(setting, { model, nCtx, threads, flashAttn, upstreamProducts = false }) {
  const common = { model, nCtx, nThreads: threads, nThreadsBatch: threads, flashAttn, upstreamProducts }
  if (!setting) return { ...common, nBatch: 4096, nUbatch: 512, h2o: /** @type {false} */ (false) }
  const { S, schedule, select, local, heavy, denseTail = 0 } = setting
  const h2o = { schedule, select, local, heavy, denseTail }
  // four chunks a call, so that no prompt ends with a dense tail
  const nBatch = Math.min(4, Math.ceil(nCtx / S)) * S
  return { ...common, nBatch, nUbatch: S, h2o }
}

/**
 * How many tokens of a text of n all prompts that begin with it share as whole sparse calls: a multiple of S that
 * leaves more than S, so that the last call is sparse whatever is asked. 0 where that is one chunk, which alone would
 * be dense.
 */
export function sharedHead(n, chunk) {
  const head = (Math.floor(n / chunk) - 1) * chunk
  return head > chunk ? head : 0
}

/**
 * Two ways to ask about a text. `inPrompt`: the question is the end of the prompt and is prefilled with it, sparsely in
 * an H2O context. `behind`: the context is cut back to the text, and the question is decoded densely after it, as a
 * second question is that reuses a prefilled context.
 */
export class Reader {
  #ctx
  #ids = []
  #head = 0
  #state = null

  constructor(ctx) {
    this.#ctx = ctx
  }

  /** `questions` to come: with several, whole calls that all of them share are read once. */
  async open(ids, questions = 1) {
    const ctx = this.#ctx
    this.#ids = ids
    this.#state = null
    this.#head = 0
    await ctx.clear()
    if (!ctx.h2o.covered) {
      await ctx.prefill(ids, { logits: 'none' })
      return
    }
    const head = sharedHead(ids.length, ctx.nUbatch)
    if (questions < 2 || head === 0) return
    await ctx.prefill(ids.slice(0, head), { logits: 'none' })
    this.#head = head
    this.#state = await ctx.saveState()
  }

  /** The logits behind the question. */
  async askInPrompt(question) {
    const ctx = this.#ctx
    if (this.#state && ctx.position !== this.#head) await ctx.loadState(this.#state)
    const rest = [...this.#ids.slice(this.#head), ...question]
    const { logits, path, reason, denseTail } = await ctx.prefill(rest, { append: this.#state !== null })
    if (path !== 'h2o') throw new Error(`a prompt of ${this.#head + rest.length} tokens was dense: ${reason}`)
    return { logits, denseTail }
  }

  /** The text has been read before, by open() in a dense context, with another question in an H2O one. */
  async askBehind(question) {
    await this.#ctx.truncate(this.#ids.length)
    const { logits } = await this.#ctx.decode(question)
    return { logits }
  }

  /** Whether the greedy answer is `answer`, all of it; `first` are the logits of its first token. */
  async answers(first, answer) {
    let logits = first
    for (const [i, token] of answer.entries()) {
      if (argmax(logits) !== token) return false
      if (i + 1 < answer.length) logits = (await this.#ctx.decode(token)).logits
    }
    return true
  }

  /** One prefill with the answers in it; for each whether all of its tokens are the likeliest where they stand. */
  async predicts(ids, asks) {
    const { logits } = await this.#ctx.prefill(ids, { logits: 'all' })
    const nVocab = logits.length / ids.length
    const likeliest = (i) => argmax(logits.subarray(i * nVocab, (i + 1) * nVocab))
    return asks.map(({ at, answer }) => answer.every((token, i) => likeliest(at + i - 1) === token))
  }
}

/** Log-probability of a token. */
export function logOf(logits, token) {
  return logits[token] - logSum(logits)
}

/** What logits are less, as log-probabilities. */
export function logSum(logits) {
  const most = logits[argmax(logits)]
  return most + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0))
}
