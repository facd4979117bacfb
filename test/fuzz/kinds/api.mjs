// Random sequences of calls on one context. Whatever was done before, the same content must give the same logits, bit
// for bit: after a restored state, after an abort that was resumed, after a clear, and where the beginning of a prompt
// is not read again. The same seed and options then give the same tokens.

import { Draw } from '../draw.mjs'
import { sameLogits, someTokens, tinyContext } from '../tiny.mjs'
import { codeOf, promise } from '../use-model.mjs'
import { samplersOf } from './grammar.mjs'

const PROBE = Array.from({ length: 70 }, (_, i) => 65 + (i % 26))
const OPTIONS = [
  {},
  { h2o: false },
  { h2o: { local: 16, heavy: 16, schedule: 'two-pass' } },
  { h2o: { local: 16, heavy: 16, select: 'votes' } },
  { nUbatch: 32 },
  { typeK: 'q8_0' },
]

/** Two contexts for each of OPTIONS: the one under test, and one that is cleared before each use. */
const contexts = new Map()

export function recipe(draw, seed) {
  const calls = draw.list(draw.int(4, 14), () =>
    draw.weighted([
      [4, () => ['prefill', draw.int(1, 400), draw.chance(0.6)]],
      [2, () => ['generate', draw.int(1, 260), draw.int(0, 5)]],
      [2, () => ['sample', draw.int(1, 260), { nPredict: draw.int(0, 9), ...samplingOf(draw) }]],
      [3, () => ['reread', draw.int(0, 400), draw.int(1, 200)]],
      [2, () => ['decode', draw.int(1, 8)]],
      [2, () => ['truncate', draw.int(0, 1024)]],
      [1, () => ['clear']],
      [2, () => ['save']],
      [3, () => ['load', draw.int(0, 9)]],
      [2, () => ['abort', draw.int(100, 700), draw.int(0, 4)]],
      [1, () => ['bad', draw.int(0, 5)]],
      [1, () => ['together', draw.int(1, 200)]],
    ])(),
  )
  return { kind: 'api', seed, options: draw.int(0, OPTIONS.length - 1), calls }
}

export async function run({ seed, options, calls }) {
  if (!contexts.has(options))
    contexts.set(options, [await tinyContext(OPTIONS[options]), await tinyContext(OPTIONS[options])])
  const [context, fresh] = contexts.get(options)
  const draw = Draw.seeded('tokens', seed)
  const used = { context, fresh, draw, saved: [], prompt: [] }
  await context.clear()
  for (const [name, ...args] of calls) {
    try {
      await CALLS[name](used, ...args)
    } catch (error) {
      codeOf(error)
    }
    promise(context.position <= context.nCtx, `position ${context.position}`)
  }
  await context.clear()
  await fresh.clear()
  const prompt = someTokens(draw, 300)
  const again = (await context.prefill(prompt)).logits
  promise(
    sameLogits(again, (await fresh.prefill(prompt)).logits),
    'a cleared context differs from a fresh one',
  )
  return 'ok'
}

function samplingOf(draw) {
  const grammar = draw.pick([undefined, undefined, 'root ::= [a-z ]+', 'root ::= "x"', 'root ::= ('])
  return { seed: draw.int(0, 9), ...samplersOf(draw), ...(grammar && { grammar }) }
}

const CALLS = {
  prefill(used, n, append) {
    const tokens = someTokens(used.draw, n)
    if (!append) used.prompt = tokens
    return used.context.prefill(tokens, { append })
  },
  // begins as the last prompt or the last loaded state did
  async reread(used, keep, n) {
    used.prompt = [...used.prompt.slice(0, keep), ...someTokens(used.draw, n)]
    const { logits } = await used.context.prefill(used.prompt)
    await used.fresh.clear()
    const whole = await used.fresh.prefill(used.prompt, { reuse: false })
    promise(sameLogits(logits, whole.logits), 'a prompt with a known beginning gives other logits')
  },
  async sample(used, n, options) {
    used.prompt = someTokens(used.draw, n)
    await used.fresh.clear()
    const [here, there] = [
      await sampled(used.context, used.prompt, options),
      await sampled(used.fresh, used.prompt, options),
    ]
    promise(here === there, `the same seed gives ${here} and ${there}`)
  },
  async generate({ context, draw }, n, nPredict) {
    for await (const _ of context.generate(someTokens(draw, n), { nPredict, seed: 1, ignoreEos: true }));
  },
  decode: ({ context, draw }, n) => context.decode(someTokens(draw, n)),
  truncate: ({ context }, position) => context.truncate(position),
  clear: ({ context }) => context.clear(),

  // the logits after it are what the state must give back
  async save({ context, fresh, saved, prompt }) {
    const bytes = await context.saveState()
    await fresh.loadState(bytes)
    saved.push({ bytes, position: context.position, logits: await probe(fresh), prompt })
  },
  async load(used, i) {
    const { context, saved } = used
    if (saved.length === 0) return
    const { bytes, position, logits, prompt } = saved[i % saved.length]
    used.prompt = prompt
    await context.loadState(bytes)
    promise(context.position === position, `position ${context.position} after a state of ${position}`)
    promise(sameLogits(await probe(context), logits), 'a restored state gives other logits')
    await context.loadState(bytes)
  },
  async abort({ context, fresh, draw }, n, after) {
    const prompt = someTokens(draw, n)
    const controller = new AbortController()
    let calls = 0
    const onProgress = () => {
      if (calls++ >= after) controller.abort()
    }
    try {
      await context.prefill(prompt, { signal: controller.signal, onProgress })
    } catch (error) {
      promise(codeOf(error) === 'AbortError', `aborted with ${error.code}`)
    }
    const rest = prompt.slice(context.position)
    if (rest.length === 0) return
    const { logits } = await context.prefill(rest, { append: context.position > 0 })
    await fresh.clear()
    const whole = await fresh.prefill(prompt)
    promise(sameLogits(logits, whole.logits), `resumed at ${n - rest.length} of ${n}: other logits`)
  },
  bad: ({ context }, i) =>
    [
      () => context.prefill([]),
      () => context.prefill([1, -1]),
      () => context.decode(1e9),
      () => context.truncate(-1),
      () => context.loadState(new Uint8Array(100)),
      () => context.prefill(new Int32Array(5000)),
    ][i](),
  together: ({ context, draw }, n) =>
    Promise.allSettled([
      context.prefill(someTokens(draw, n)),
      context.truncate(3),
      context.saveState(),
      context.clear(),
    ]),
}

async function probe(context) {
  if (context.position + PROBE.length > context.nCtx) return new Float32Array(0)
  return (await context.prefill(PROBE, { append: true })).logits
}

/** The tokens, or the code of the refusal. */
async function sampled(context, prompt, options) {
  const tokens = []
  try {
    for await (const { token } of context.generate(prompt, options)) tokens.push(token)
  } catch (error) {
    tokens.push(codeOf(error))
  }
  return tokens.join(' ')
}
