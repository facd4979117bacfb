/** Generating text: a prefill, then one token after the other. */

import type { ContextHandle } from './context-handle.js'
import type { NativeSampling } from './native/surface.js'
import { checkPrefillOptions, ownPrompt, type PrefillOptions, type Prompt, runPrefill } from './prefill.js'
import { checkSampling, type SamplingOptions } from './sampling.js'
import type { GeneratedToken, GenerateSummary, GenerateTimings, PrefillResult } from './types.js'
import { Utf8Stream } from './utf8-stream.js'
import { integer } from './validate.js'

export interface GenerateOptions extends SamplingOptions, Omit<PrefillOptions, 'logits'> {
  /** Most tokens to generate; -1: until the model ends it or the context is full. -1 */
  nPredict?: number
  /** Never choose a token that ends the generation: false */
  ignoreEos?: boolean
}

export function checkGenerateOptions(options: GenerateOptions): {
  nPredict: number
  sampling: NativeSampling
} {
  checkPrefillOptions(options)
  const nPredict = integer('nPredict', options.nPredict, -1, -1, 2 ** 31 - 1)
  return { nPredict, sampling: checkSampling(options) }
}

/**
 * Holds its turn of the context from the first next() until it ends or is left (`break`): what is called on the context
 * meanwhile waits for it. The token yielded last is not in the context yet.
 */
export async function* runGenerate(
  context: ContextHandle,
  prompt: Prompt,
  options: GenerateOptions,
): AsyncGenerator<GeneratedToken, GenerateSummary, void> {
  const { nPredict, sampling } = checkGenerateOptions(options)
  const { signal } = options
  const own = ownPrompt(prompt, context.nVocab)
  const start = performance.now()
  const end = await context.begin(signal)
  try {
    const prefill = await context.abortable(signal, async () => {
      context.startSampling(sampling)
      return runPrefill(context, own, { ...options, logits: 'none' }, nPredict !== 0)
    })
    const clock = new Clock(start)
    const text = new Utf8Stream()
    let { token } = prefill
    let whole = ''
    let predicted = 0
    let stop: GenerateSummary['stop'] = 'length'

    while (token !== null) {
      if (context.isEog(token)) {
        stop = 'eos'
        const rest = text.flush()
        whole += rest
        if (rest) yield { token, text: rest }
        break
      }
      predicted++
      const isLast = predicted === nPredict
      const isFull = context.position >= context.info.nCtx
      let piece = text.push(context.piece(token))
      if (isLast || isFull) piece += text.flush()
      whole += piece
      yield { token, text: piece }
      if (isLast) break
      if (isFull) {
        stop = 'context'
        break
      }
      const next: number = token
      const call = await clock.measure(() =>
        context.abortable(signal, () => context.decode(Int32Array.of(next), 'none', null, true)),
      )
      token = call.token
    }

    const timings = timingsOf(prefill.result, predicted, clock)
    return { prefill: prefill.result, text: whole, predicted, stop, seed: sampling.seed, timings }
  } finally {
    end()
  }
}

/** Time spent on tokens, without what the consumer does between them. */
class Clock {
  readonly ttftMs: number
  predictedMs = 0

  constructor(start: number) {
    this.ttftMs = performance.now() - start
  }

  async measure<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now()
    try {
      return await work()
    } finally {
      this.predictedMs += performance.now() - start
    }
  }
}

function timingsOf(prefill: PrefillResult, predictedN: number, clock: Clock): GenerateTimings {
  const { promptMs, promptPerSecond } = prefill.timings
  const { predictedMs, ttftMs } = clock
  return {
    cacheN: prefill.cached,
    promptN: prefill.tokens,
    promptMs,
    promptPerTokenMs: promptMs / prefill.tokens,
    promptPerSecond,
    predictedN,
    predictedMs,
    predictedPerTokenMs: predictedN > 0 ? predictedMs / predictedN : 0,
    predictedPerSecond: predictedMs > 0 ? (predictedN * 1000) / predictedMs : 0,
    ttftMs,
  }
}
