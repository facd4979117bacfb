// biome-ignore-all lint/style/noNonNullAssertion: indices are in range by construction
// The sparse call (DESIGN.md section 2), one layer and one KV head at a time.
//
// The output of a query is ONE softmax over the keys of its memory and of its own chunk together. The engine merges
// two attentions with online-softmax states instead; that both agree is what comparing them shows.

import { type Attention, logitsOver, nGroup, range, weightedValues } from './attention.js'
import type { KvCache } from './kv-cache.js'
import type { Hparams } from './model.js'
import { softmax } from './ops.js'
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
  /** the scores that the selection of memPos could choose by; for checkSelection */
  tracked: Scores
}

/** One chunk of one layer: [pos, pos + n). */
export interface ChunkTrace {
  layer: number
  chunk: number
  pos: number
  n: number
  heads: HeadTrace[]
}

/** The memory set to use in place of the reference's own choice; undefined leaves the choice to the reference. */
export type ForcedMemory = (layer: number, chunk: number, head: number) => ArrayLike<number> | undefined

export interface SparseCall extends Budget {
  /** tokens per chunk */
  S: number
  /** [layer][kv head], replaced in place by what the call leaves behind */
  state: HeadState[][]
  /** filled in order of layer, then chunk */
  trace: ChunkTrace[]
  forcedMemory?: ForcedMemory | undefined
}

export function sparseAttention(h: Hparams, cache: KvCache, call: SparseCall): Attention {
  return (layer, q, base) => {
    const n = q.length / (h.nHead * h.headDim)
    const out = new Float64Array(q.length)
    for (let c = 0; c * call.S < n; c++) {
      const begin = base + c * call.S
      const end = Math.min(begin + call.S, base + n)
      const heads = range(0, h.nHeadKv).map((kvHead) => {
        const state = call.state[layer]![kvHead]!
        const tracked = new Map([...state.memory, ...state.chunk])
        const forced = call.forcedMemory?.(layer, c, kvHead)
        const memPos = forced ? Array.from(forced) : selectMemory(begin, call, tracked)

        const memory = new Map(memPos.map((j) => [j, tracked.get(j) ?? 0]))
        const chunk = new Map(range(begin, end).map((j) => [j, 0]))
        attendChunk(h, cache, layer, kvHead, q, base, memory, chunk, out)
        call.state[layer]![kvHead] = { memory, chunk }

        const memScore = Float64Array.from(memory.values())
        const chunkScore = Float64Array.from(chunk.values())
        return { memPos: Int32Array.from(memPos), memScore, chunkScore, tracked }
      })
      call.trace.push({ layer, chunk: c, pos: begin, n: end - begin, heads })
    }
    return out
  }
}

/** Every query of the chunk attends to the memory and, causally, to the chunk; its votes go to both. */
function attendChunk(
  h: Hparams,
  cache: KvCache,
  layer: number,
  kvHead: number,
  q: Float64Array,
  base: number,
  memory: Map<number, number>,
  chunk: Map<number, number>,
  out: Float64Array,
): void {
  const memPos = [...memory.keys()]
  const chunkPos = [...chunk.keys()]
  for (const [row, position] of chunkPos.entries()) {
    const visible = chunkPos.slice(0, row + 1)
    for (let head = kvHead * nGroup(h); head < (kvHead + 1) * nGroup(h); head++) {
      const at = ((position - base) * h.nHead + head) * h.headDim
      const inter = logitsOver(h, cache, layer, head, q, at, memPos)
      const intra = logitsOver(h, cache, layer, head, q, at, visible)
      vote(memory, memPos, softmax(inter))
      vote(chunk, visible, softmax(intra))
      weightedValues(h, cache, layer, head, softmax([...inter, ...intra]), [...memPos, ...visible], out, at)
    }
  }
}

function vote(scores: Map<number, number>, positions: readonly number[], weights: readonly number[]): void {
  positions.forEach((j, i) => {
    scores.set(j, scores.get(j)! + weights[i]!)
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
