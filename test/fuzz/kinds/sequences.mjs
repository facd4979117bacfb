// Random calls on all sequences of a context at once, of any architecture and size. Each sequence gives what the same calls
// give in a context of their own, bit for bit: logits, tokens, and the codes of what is refused.

import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createContext, loadModel } from '../../../dist/index.js'
import { architectures, writeModel } from '../../../dist/model-maker/index.js'
import { Draw } from '../draw.mjs'
import { sameLogits, someTokens } from '../tiny.mjs'
import { codeOf, promise } from '../use-model.mjs'

/** llama.cpp cannot do without a layer of theirs that is not the first. */
const LAYERS = { llama4: 4, gemma4: 6 }

const models = new Map()

export function recipe(draw, seed) {
  const parallel = draw.int(1, 4)
  const nUbatch = draw.pick([64, 16, 32, 100])
  const budget = { local: draw.pick([8, 0, 4]), heavy: draw.pick([8, 4, 0]) }
  const h2o = draw.weighted([
    [4, { ...budget, select: 'query' }],
    [3, { ...budget, select: 'votes' }],
    [1, { ...budget, select: 'query', decode: 32 }],
    [1, { ...budget, select: 'votes', schedule: 'two-pass' }],
    [1, false],
  ])
  const arch = draw.pick(architectures)
  return {
    kind: 'sequences',
    seed,
    arch,
    options: {
      parallel,
      nUbatch,
      nCtx: draw.pick([512, 256, 64, 100, 300, 700]),
      nBatch: nUbatch * draw.int(1, 4) + draw.pick([0, 1, 7]),
      nThreads: draw.int(1, 2),
      flashAttn: draw.pick(['auto', 'on', 'off']),
      ...draw.pick([{}, { typeK: 'q8_0' }, { typeK: 'f32', typeV: 'f32' }]),
      h2o,
    },
    calls: draw.list(parallel, () =>
      draw.list(draw.int(1, 5), () =>
        draw.weighted([
          [4, () => ['append', draw.int(1, 260)]],
          [2, () => ['read', draw.int(1, 400)]],
          [2, () => ['generate', draw.int(1, 200), draw.int(1, 6)]],
          [1, () => ['truncate', draw.int(0, 300)]],
          [1, () => ['abort', draw.int(1, 400), draw.int(0, 3)]],
          [1, () => ['state']],
        ])(),
      ),
    ),
  }
}

async function modelOf(arch) {
  if (!models.has(arch)) {
    const path = join(tmpdir(), `h2o-fuzz-sequences-${arch}-${process.pid}.gguf`)
    await writeModel(path, { arch, hidden: 128, vocab: 300, ...(LAYERS[arch] && { layers: LAYERS[arch] }) })
    models.set(arch, await loadModel(path))
    rmSync(path)
  }
  return models.get(arch)
}

export async function run({ seed, arch, options, calls }) {
  const model = await modelOf(arch)
  const open = (parallel) => createContext({ model, onWarning: () => {}, ...options, parallel })
  let context
  let alone
  try {
    context = await open(options.parallel)
    alone = await open(1)
    const sequences = [context, ...Array.from({ length: options.parallel - 1 }, () => context.sequence())]
    const together = await Promise.all(sequences.map((one, i) => outcomes(one, calls[i], seed + i)))
    for (const [i, found] of together.entries()) {
      await alone.clear()
      for (const [j, expected] of (await outcomes(alone, calls[i], seed + i)).entries())
        promise(
          isSame(found[j], expected),
          `call ${j} of sequence ${i}: ${shown(found[j])}, alone ${shown(expected)}`,
        )
    }
    return context.h2o.covered ? 'covered' : 'dense'
  } catch (error) {
    return `open ${codeOf(error)}`
  } finally {
    await alone?.dispose()
    await context?.dispose()
  }
}

/** What each call gave: logits, tokens, or the code of its refusal. */
async function outcomes(sequence, calls, seed) {
  const draw = Draw.seeded('tokens', seed)
  const all = []
  for (const [name, ...args] of calls) {
    try {
      all.push(await CALLS[name](sequence, draw, ...args))
    } catch (error) {
      all.push(codeOf(error))
    }
  }
  return all
}

const CALLS = {
  append: async (sequence, draw, n) => (await sequence.prefill(someTokens(draw, n), { append: true })).logits,
  read: async (sequence, draw, n) => (await sequence.prefill(someTokens(draw, n))).logits,
  async generate(sequence, draw, n, nPredict) {
    const tokens = []
    for await (const { token } of sequence.generate(someTokens(draw, n), {
      nPredict,
      seed: 1,
      ignoreEos: true,
    }))
      tokens.push(token)
    return tokens.join(' ')
  },
  truncate: async (sequence, _, position) => `${await sequence.truncate(position)}`,
  // where it ends depends on who else has a turn, so nothing of it is kept
  async abort(sequence, draw, n, after) {
    const controller = new AbortController()
    let calls = 0
    const onProgress = () => {
      if (calls++ >= after) controller.abort()
    }
    await sequence.prefill(someTokens(draw, n), { signal: controller.signal, onProgress }).catch(codeOf)
    await sequence.clear()
  },
  state: async (sequence) => {
    await sequence.loadState(await sequence.saveState())
  },
}

const isSame = (a, b) => (typeof a === 'object' && typeof b === 'object' ? sameLogits(a, b) : a === b)
const shown = (outcome) => (typeof outcome === 'object' ? `logits ${outcome[0]}` : outcome)
