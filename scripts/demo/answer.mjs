// One prompt, and what came of it.

/** The greedy text, `nPredict` tokens of it, and the milliseconds to the first. */
export async function answer(context, text, nPredict) {
  const start = performance.now()
  const generation = context.generate(text, { nPredict, temperature: 0, ignoreEos: true })
  let ttft
  for (;;) {
    const { done, value } = await generation.next()
    if (done) return { text: value.text, prefill: value.prefill, ttft: ttft ?? performance.now() - start }
    ttft ??= performance.now() - start
  }
}

/** Which path the prefill took, in a few words. */
export function how({ path, reason, chunks, calls }, { h2o }) {
  const which = path === 'h2o' ? `${chunks} chunks of ${h2o.chunk}, L=${h2o.local} H=${h2o.heavy}` : reason
  return `${path} (${which}), calls of ${calls.map((call) => call.n).join(' + ')} tokens`
}

export const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`

/** How much sooner than dense the first token of each prompt came. @param {Record<string, number[]>} times */
export function ratios({ dense, ...others }) {
  return Object.entries(others)
    .map(([way, times]) => {
      const each = times.map((time, i) => (dense[i] / time).toFixed(2))
      return `${way}: first token ${each.join(', ')} times as soon`
    })
    .join('\n')
}
