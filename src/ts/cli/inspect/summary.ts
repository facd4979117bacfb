// Figures of a layer from those of its heads and chunks.

import { mean } from '../statistics.js'
import type { Shares } from './coverage.js'
import type { HeadChunk } from './recording.js'
import { heavyOf, meanPairJaccard, union } from './sets.js'

/** Means over the heads and the chunks that had a memory; null where nothing was there to be measured. */
export interface LayerFigures extends Nullable<Shares> {
  heavyTurnover: number | null
  chunkJaccard: number | null
  /** of the Heavy of all pairs of heads; Local is the same for all */
  headJaccard: number | null
  /** of the whole memory sets of all pairs of heads */
  headMemoryJaccard: number | null
  /** the least of all */
  runJaccard: number | null
}

type Nullable<T> = { [key in keyof T]: T[key] | null }

const shareNames = ['own', 'local', 'heavy', 'lost', 'coverage', 'oracle', 'sink'] as const

/** `heads`: the chunks of each head of the layer. */
export function layerFigures(heads: readonly (readonly HeadChunk[])[], local: number): LayerFigures {
  const chunks = heads.flat().filter(hasMemory)
  const shares = Object.fromEntries(
    shareNames.map((name) => [name, mean(chunks.map((chunk) => chunk.shares[name]))]),
  ) as Nullable<Shares>
  const steps = (heads[0] ?? []).map((_, i) => chunkFigures(heads, i, local))
  const runs = chunks.flatMap(({ runJaccard }) => runJaccard ?? [])
  return {
    ...shares,
    heavyTurnover: mean(chunks.map((chunk) => chunk.heavyTurnover)),
    chunkJaccard: mean(chunks.map((chunk) => chunk.chunkJaccard)),
    headJaccard: mean(steps.map((step) => step.headJaccard)),
    headMemoryJaccard: mean(steps.map((step) => step.headMemoryJaccard)),
    runJaccard: runs.length > 0 ? Math.min(...runs) : null,
  }
}

/** What the heads of a layer have in common in their i-th chunk. */
export interface ChunkFigures {
  pos: number
  headJaccard: number | null
  headMemoryJaccard: number | null
}

export function chunkFigures(
  heads: readonly (readonly HeadChunk[])[],
  i: number,
  local: number,
): ChunkFigures {
  const chunks = heads.map((head) => head[i] as HeadChunk)
  const { pos = 0 } = chunks[0] ?? {}
  const memories = chunks.map(({ sets }) => union(sets)) // blocks of one number need not have the same queries
  return {
    pos,
    headJaccard: meanPairJaccard(memories.map((memory) => heavyOf(memory, pos, local))),
    headMemoryJaccard: meanPairJaccard(memories),
  }
}

/** Means of the layers' figures; the least of the runs. */
export function allLayers(layers: readonly LayerFigures[]): LayerFigures {
  const [first] = layers
  if (!first) throw new Error('there are no layers')
  const names = Object.keys(first) as (keyof LayerFigures)[]
  const means = Object.fromEntries(names.map((name) => [name, mean(layers.map((layer) => layer[name]))]))
  const runs = layers.flatMap(({ runJaccard }) => runJaccard ?? [])
  return {
    ...(means as unknown as LayerFigures),
    runJaccard: runs.length > 0 ? Math.min(...runs) : null,
  }
}

/** The first chunk of a prompt has none, and covers all of what there is. */
export function hasMemory({ sets }: HeadChunk): boolean {
  return sets.length > 0
}
