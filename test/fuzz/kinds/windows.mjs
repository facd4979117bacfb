// Random calls on models with sliding windows, with cuts and aborts between them, beside a context whose caches forget
// nothing. The same content gives the same logits but for the order of sums: cells of windows are not in order then.

import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createContext, loadModel } from '../../../dist/index.js'
import { writeModel } from '../../../dist/model-maker/index.js'
import { Draw } from '../draw.mjs'
import { someTokens } from '../tiny.mjs'
import { codeOf, promise } from '../use-model.mjs'

// window and chunk: nearly all of the 256 cells that they are padded to, where a lost position is missed, or far from it
const SIZES = [
  [100, 128],
  [180, 64],
  [120, 128],
  [220, 32],
  [32, 64],
]
const ROOM = 2048

const models = new Map()
const pairs = new Map()

export function recipe(draw, seed) {
  const calls = draw.list(draw.int(6, 14), () =>
    draw.weighted([
      [5, () => ['read', draw.pick([draw.int(1, 60), draw.int(130, 420)])]],
      [5, () => ['cut', draw.pick([draw.int(1, 30), draw.int(20, 160)])]],
      [3, () => ['abort', draw.int(150, 900), draw.int(0, 5)]],
      [1, () => ['clear']],
    ])(),
  )
  const [window, chunk] = draw.pick(SIZES)
  return {
    kind: 'windows',
    seed,
    window,
    chunk,
    sparse: draw.chance(0.5),
    calls,
  }
}

async function modelOf(window) {
  if (!models.has(window)) {
    const path = join(tmpdir(), `h2o-fuzz-window-${window}-${process.pid}.gguf`)
    await writeModel(path, {
      arch: 'gemma3',
      layers: 4,
      slidingPattern: 2,
      hidden: 64,
      heads: 2,
      slidingWindow: window,
    })
    models.set(window, await loadModel(path))
    rmSync(path)
  }
  return models.get(window)
}

async function pairOf({ window, chunk, sparse }) {
  const key = [window, chunk, sparse].join(' ')
  if (!pairs.has(key)) {
    const model = await modelOf(window)
    const open = (swaFull) =>
      createContext({
        ...{
          model,
          swaFull,
          nCtx: ROOM,
          nBatch: 1024,
          nUbatch: chunk,
          nThreads: 1,
          typeK: 'f32',
          typeV: 'f32',
        },
        flashAttn: 'off',
        h2o: sparse && { local: 8, heavy: 16, select: 'query', denseTail: 0 },
        onWarning: () => {},
      })
    pairs.set(key, await Promise.all([open(false), open(true)]))
  }
  return pairs.get(key)
}

export async function run(mutant) {
  try {
    return await compare(mutant, mutant.seed)
  } catch (error) {
    if (!mutant.sparse) throw error
    // the last digits of scores may decide a set; what is wrong is wrong with other tokens too
    for (const more of [1e6, 2e6, 3e6]) await compare(mutant, mutant.seed + more)
    return 'another choice'
  }
}

async function compare(mutant, seed) {
  const pair = await pairOf(mutant)
  const draw = Draw.seeded('tokens', seed)
  for (const context of pair) await context.clear()
  let compared = 0
  for (const [name, ...args] of mutant.calls) compared += await CALLS[name](pair, draw, ...args)
  return compared > 0 ? 'compared' : 'nothing read'
}

/** Each gives how many logits it compared. */
const CALLS = {
  async read(pair, draw, n) {
    const tokens = someTokens(draw, n)
    if (pair[0].position + n > ROOM) return 0
    const [ours, whole] = await Promise.all(pair.map((context) => context.prefill(tokens, { append: true })))
    const error = nmse(ours.logits, whole.logits)
    promise(error < 1e-4, `NMSE ${error} at ${pair[0].position}`)
    return 1
  },
  async cut([ours, whole], _, n) {
    const position = Math.max(0, ours.position - n)
    try {
      await ours.truncate(position)
    } catch (error) {
      promise(codeOf(error) === 'ERR_H2O_POSITION_GONE', error.code)
      return 0
    }
    await whole.truncate(position)
    return 0
  },
  async abort([ours, whole], draw, n, after) {
    const tokens = someTokens(draw, n)
    if (ours.position + n > ROOM) return 0
    const controller = new AbortController()
    let calls = 0
    const onProgress = () => {
      if (calls++ >= after) controller.abort()
    }
    await ours.prefill(tokens, { append: true, signal: controller.signal, onProgress }).catch((error) => {
      promise(codeOf(error) === 'AbortError', `aborted with ${error.code}`)
    })
    await whole.prefill(tokens, { append: true })
    await whole.truncate(ours.position)
    return 0
  },
  async clear(pair) {
    for (const context of pair) await context.clear()
    return 0
  },
}

function nmse(a, b) {
  let [error, total] = [0, 0]
  for (const [i, x] of a.entries()) {
    error += (x - b[i]) ** 2
    total += b[i] ** 2
  }
  return error / total
}
