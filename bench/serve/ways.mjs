// Sequences that run at once: of one context, and contexts of their own; with what they hold and how it is counted.

import { createContext } from '../../dist/index.js'

/** Each gives `n` sequences in contexts with these settings. */
export const WAYS = {
  'one context': (settings, n) => oneContext(settings, n, false),
  'one context, batched': (settings, n) => oneContext(settings, n, true),
  'contexts of their own': async (settings, n) => {
    const contexts = []
    for (let i = 0; i < n; i++) contexts.push(await createContext(settings))
    return { contexts, sequences: contexts }
  },
}

async function oneContext(settings, n, contBatching) {
  const context = await createContext({ ...settings, parallel: n, contBatching })
  const others = Array.from({ length: n - 1 }, () => context.sequence())
  return { contexts: [context], sequences: [context, ...others] }
}

export const mebibytes = (contexts) =>
  contexts.reduce((sum, { memory }) => sum + memory.kvBytes + memory.h2oIndexBytes + memory.computeBytes, 0) /
  2 ** 20

export function someTokens(n, seed, nVocab) {
  let state = seed
  return Int32Array.from({ length: n }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 8) % nVocab
  })
}

/** What `work` gives, with its wall and CPU seconds. */
export async function timed(work) {
  const cpu = process.cpuUsage()
  const began = performance.now()
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  return { result, seconds: (performance.now() - began) / 1000, cpu: (user + system) / 1e6 }
}

/** Runs each of `names` so many times, by turns. -> Map of a name to what its runs gave */
export async function byTurns(names, nRuns, run) {
  const runs = new Map(names.map((name) => [name, []]))
  for (let turn = 0; turn < nRuns; turn++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(turn + i) % names.length]
      runs.get(name).push(await run(name))
    }
  }
  return runs
}
