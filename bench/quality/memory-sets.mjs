// How the heavy hitters change from set to set, and whether the same prompt gives the same sets.

import * as sets from '../../dist/cli/inspect/sets.js'
import { mean } from '../../dist/cli/statistics.js'
import { contextOptions } from './reader.mjs'

/** Shared members over all members; two empty sets are alike. */
export const jaccard = (a, b) => sets.jaccard(a, b) ?? 1

/** The share of `now` that was not in `before`. */
export const turnover = (before, now) => sets.turnover(now, before) ?? 0

/** Set by set, the memory of each head at an entry of the trace, without the local positions. */
export function heavySets(entry, local) {
  const { pos, nHeads, nSets } = entry
  return Array.from({ length: nSets }, (_, set) =>
    Array.from({ length: nHeads }, (_, head) =>
      Array.from(sets.heavyOf(sets.membersOf(entry, set * nHeads + head), pos, local)),
    ),
  )
}

/**
 * By layer and chunk, from one set to the next one: the share of heavy positions that are new, mean over the heads and
 * the sets of the chunk. The first memory has nothing before it.
 *
 * @param {object[]} trace as takeTrace() gives it
 * @returns {{ layer: number, chunk: number, turnover: number }[]}
 */
export function turnovers(trace, { S, local }) {
  const rows = []
  const before = new Map()
  for (const entry of trace) {
    if (entry.nMem === 0) continue
    const memories = heavySets(entry, local)
    const chain = before.has(entry.layer) ? [before.get(entry.layer), ...memories] : memories
    before.set(entry.layer, memories.at(-1))
    const shares = chain.slice(1).flatMap((set, i) => set.map((now, head) => turnover(chain[i][head], now)))
    if (shares.length > 0) rows.push({ layer: entry.layer, chunk: entry.pos / S, turnover: mean(shares) })
  }
  return rows
}

/** The same prompt twice in one context: all memory sets against each other, the least alike. */
export function leastAlike(first, second) {
  const values = first.flatMap((entry, i) => {
    const [a, b] = [heavySets(entry, 0).flat(), heavySets(second[i], 0).flat()]
    return a.map((set, head) => jaccard(set, b[head]))
  })
  return { least: Math.min(...values), sets: values.length }
}

/** @param {number[]} ids a prompt, read in one call, whose trace is all of it */
export async function memorySets(api, setting, { model, ids, threads }) {
  const options = contextOptions(setting, { model, nCtx: ids.length, threads, flashAttn: 'auto' })
  const nBatch = Math.ceil(ids.length / setting.S) * setting.S
  const ctx = await api.createContext({ ...options, nBatch, h2o: { ...options.h2o, trace: true } })
  try {
    const traces = []
    for (let i = 0; i < 2; i++) {
      await ctx.prefill(ids, { logits: 'none', reuse: false })
      traces.push(ctx.takeTrace())
    }
    return { turnovers: turnovers(traces[0], setting), repeated: leastAlike(...traces) }
  } finally {
    await ctx.dispose()
  }
}
