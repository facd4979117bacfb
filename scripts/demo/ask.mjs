// Reading and asking, with the time that each takes.

/** Reads a text into an empty context. */
export async function read(context, text) {
  const start = performance.now()
  await context.prefill(text, { logits: 'none' })
  return { end: context.position, ms: performance.now() - start }
}

/** One question behind what was read up to `end`; what was asked before is forgotten. */
export async function askBehind(context, end, question, nPredict) {
  await context.truncate(end)
  return ask(context, question, nPredict, { append: true })
}

/** The first line of the greedy answer, and the milliseconds to its first token. */
export async function ask(context, prompt, nPredict, options) {
  const start = performance.now()
  const generation = context.generate(prompt, { nPredict, temperature: 0, ignoreEos: true, ...options })
  let ms
  for (;;) {
    const { done, value } = await generation.next()
    ms ??= performance.now() - start
    if (done) return { text: value.text.split('\n')[0].trim(), ms }
  }
}
