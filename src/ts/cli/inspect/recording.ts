// What a traced prefill did, head by head and chunk by chunk. The trace of a call is folded into figures and rows of heat
// maps when it comes: the dense mass of a long prompt would not fit into memory.
import type { H2oTraceEntry } from '../../index.js'
import type { Columns } from './columns.js'
import { coverage, type Shares } from './coverage.js'
import { type KindRow, kindRow } from './kinds.js'
import { heavyOf, jaccard, turnover } from './sets.js'

/** One chunk of one KV head. */
export interface HeadChunk {
  pos: number
  n: number
  /** ascending; empty if the chunk had none */
  memory: Int32Array
  shares: Shares
  /** share of the Heavy of the chunk before that had to go; null where there was none */
  heavyTurnover: number | null
  /** overlap with the memory set of the chunk before; null where there was none */
  chunkJaccard: number | null
  /** the least overlap with the same set of another run; null until there was one */
  runJaccard: number | null
  rows: HeatRows
}

/** By column of the heat map: what is seen, and the largest score and share of dense mass (NaN: none). */
export interface HeatRows {
  kinds: KindRow
  score: Float32Array
  mass: Float32Array
}

export interface RecordingOptions {
  /** L after clamping */
  local: number
  nSink: number
  columns: Columns
}

export class Recording {
  /** by layer, then KV head, then chunk */
  readonly layers: HeadChunk[][][] = []
  readonly options: RecordingOptions

  constructor(options: RecordingOptions) {
    this.options = options
  }

  /** The trace of one call of the run that all figures are of. */
  add(entries: readonly H2oTraceEntry[]): void {
    for (const entry of entries) {
      this.layers[entry.layer] ??= Array.from({ length: entry.nHeadKv }, () => [])
      for (const [head, chunks] of (this.layers[entry.layer] as HeadChunk[][]).entries()) {
        chunks.push(this.#headChunk(entry, head, chunks.at(-1)))
      }
    }
  }

  /** The trace of one call of another run of the same prompt. */
  compare(entries: readonly H2oTraceEntry[]): void {
    for (const entry of entries) {
      for (const [head, chunks] of (this.layers[entry.layer] ?? []).entries()) {
        const chunk = chunks.find(({ pos }) => pos === entry.pos)
        if (!chunk) continue
        const overlap = jaccard(chunk.memory, memoryOf(entry, head))
        if (overlap !== null) chunk.runJaccard = Math.min(chunk.runJaccard ?? 1, overlap)
      }
    }
  }

  #headChunk(entry: H2oTraceEntry, head: number, previous: HeadChunk | undefined): HeadChunk {
    const { pos, nChunk: n } = entry
    const { local, columns } = this.options
    const memory = memoryOf(entry, head)
    const mass = rowOf(entry.mass, head, pos + n)
    const before = previous ? heavyOf(previous.memory, previous.pos, local) : new Int32Array()
    return {
      pos,
      n,
      memory,
      shares: coverage(mass, pos, memory, this.options),
      heavyTurnover: turnover(before, heavyOf(memory, pos, local)),
      chunkJaccard: previous && previous.memory.length > 0 ? jaccard(previous.memory, memory) : null,
      runJaccard: null,
      rows: {
        kinds: kindRow(columns, local, { pos, n, memory, before: previous?.memory ?? null }),
        score: this.#scoreRow(entry, head, memory),
        mass: this.#massRow(mass),
      },
    }
  }

  /** Members of the memory after the chunk's votes, and the chunk's own positions with their first score. */
  #scoreRow(entry: H2oTraceEntry, head: number, memory: Int32Array): Float32Array {
    const { pos, nChunk, nMem, memScore, chunkScore } = entry
    const scores = new Map<number, number>()
    memory.forEach((position, i) => void scores.set(position, memScore[head * nMem + i] as number))
    for (let i = 0; i < nChunk; i++) scores.set(pos + i, chunkScore[head * nChunk + i] as number)
    return this.options.columns.largest(scores.keys(), (position) => scores.get(position) as number)
  }

  #massRow(mass: Float32Array): Float32Array {
    const total = mass.reduce((a, b) => a + b, 0)
    return this.options.columns.largest(mass.keys(), (position) => (mass[position] as number) / total)
  }
}

function memoryOf({ memPos, nMem }: H2oTraceEntry, head: number): Int32Array {
  return memPos.slice(head * nMem, (head + 1) * nMem)
}

function rowOf(mass: Float32Array | undefined, head: number, length: number): Float32Array {
  if (!mass) throw new Error('the trace has no mass')
  return mass.subarray(head * length, (head + 1) * length)
}
