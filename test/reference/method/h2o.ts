// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// What both schedules of a sparse call share (src/native/h2o/README.md): chunks, their memory, their scores, their
// trace. How a chunk attends is in single-pass.ts and two-pass.ts.

import { range } from '../model/attention.js'
import type { KvCache } from '../model/kv-cache.js'
import type { Hparams, ReferenceModel } from '../model/model.js'
import { type Budget, heavyOf, heavyTurnover, type Scores, selectMemory } from './selection.js'
import type { HeadState } from './state.js'

/** What one KV head of one layer did in one chunk. Scores are sums over the query heads of the group. */
export interface HeadTrace {
  /** the memory set that the chunk attended to, ascending; empty if there was none */
  memPos: Int32Array
  /** scores of memPos after this chunk's votes */
  memScore: Float64Array
  /** initial scores of the chunk's own positions, by their order in the chunk */
  chunkScore: Float64Array
  /** what the selection of memPos could choose by; for checkSelection */
  tracked: Scores
}

/** One chunk of one layer: [pos, pos + n). */
export interface ChunkTrace {
  layer: number
  chunk: number
  pos: number
  n: number
  heads: HeadTrace[]
  /** of each KV head (dense-mass.ts), if the call asked for it */
  mass?: Float64Array[]
}

/** The memory set to use in place of the reference's own choice; undefined leaves the choice to the reference. */
export type ForcedMemory = (layer: number, chunk: number, head: number) => ArrayLike<number> | undefined

export interface SparseCall extends Budget {
  /** tokens per chunk */
  S: number
  /** [layer][kv head], replaced in place by what the call leaves behind */
  state: HeadState[][]
  /** empty; in order of layer, then chunk, after the call */
  trace: ChunkTrace[]
  forcedMemory?: ForcedMemory | undefined
  /** also record what dense attention would look at */
  mass?: boolean | undefined
}

/** Appends the tokens as one sparse call and returns their logits, [n tokens][n_vocab]. */
export type SparseSchedule = (
  model: ReferenceModel,
  tokens: ArrayLike<number>,
  cache: KvCache,
  call: SparseCall,
) => Float64Array

/** The index-th chunk of its call: positions [begin, end). */
export interface Chunk {
  index: number
  begin: number
  end: number
}

/** n tokens from position `base` on; the last chunk may be short. */
export function chunksOf(base: number, n: number, S: number): Chunk[] {
  return range(0, Math.ceil(n / S)).map((index) => ({
    index,
    begin: base + index * S,
    end: base + Math.min((index + 1) * S, n),
  }))
}

/**
 * What a chunk does in a layer whatever the schedule: each KV head gets its memory and hands on its scores.
 * `attend` votes on the memory, and returns the initial scores of the chunk's own positions, ascending.
 */
export function stepChunk(
  h: Hparams,
  call: SparseCall,
  layer: number,
  chunk: Chunk,
  attend: (kvHead: number, memory: Map<number, number>) => Map<number, number>,
): void {
  const { index, begin, end } = chunk
  const heads = range(0, h.nHeadKv).map((kvHead) => {
    const state = call.state[layer]![kvHead]!
    const tracked = new Map([...state.memory, ...state.chunk])
    const forced = call.forcedMemory?.(layer, index, kvHead)
    const memPos = forced ? Array.from(forced) : selectMemory(begin, call, tracked)

    const memory = new Map(memPos.map((j) => [j, tracked.get(j) ?? 0]))
    const own = attend(kvHead, memory)
    call.state[layer]![kvHead] = { memory, chunk: own }

    const memScore = Float64Array.from(memory.values())
    const chunkScore = Float64Array.from(own.values())
    return { memPos: Int32Array.from(memPos), memScore, chunkScore, tracked }
  })
  call.trace.push({ layer, chunk: index, pos: begin, n: end - begin, heads })
}

/** Adds the weights that one query gives to the positions. */
export function vote(
  scores: Map<number, number>,
  positions: readonly number[],
  weights: readonly number[],
): void {
  positions.forEach((j, i) => {
    scores.set(j, (scores.get(j) ?? 0) + weights[i]!)
  })
}

/**
 * How much of Heavy each selection of one or more calls replaced, 0 to 1, one number per layer, KV head and memory
 * set. The first set of each head has nothing to be compared with and is left out, as are sets without Heavy.
 */
export function heavyTurnovers(trace: readonly ChunkTrace[], L: number): number[] {
  const turnovers: number[] = []
  const last = new Map<string, number[]>()
  for (const { layer, pos, heads } of trace) {
    for (const [head, { memPos }] of heads.entries()) {
      const heavy = heavyOf(memPos, pos, L)
      const previous = last.get(`${layer} ${head}`)
      if (previous && heavy.length > 0) turnovers.push(heavyTurnover(previous, heavy))
      if (heavy.length > 0) last.set(`${layer} ${head}`, heavy)
    }
  }
  return turnovers
}
