// What a traced prefill did, head by head and chunk by chunk. The trace of a call is folded into figures and rows of
// heat maps when it comes: the dense mass of a long prompt would not fit into memory.
import type { H2oTraceEntry } from '../../index.js'
import type { Columns } from './columns.js'
import { combined, coverage, type Shares } from './coverage.js'
import { type KindRow, kindRow } from './kinds.js'
import { heavyOf, jaccard, membersOf, turnover, union } from './sets.js'

/** Queries that share a memory set, where a chunk has several. */
const BLOCK = 64

/** One chunk of one head. */
export interface HeadChunk {
  pos: number
  n: number
  /** memory sets, ascending; none, one, or one for each block of queries */
  sets: Int32Array[]
  /** what some query saw of the positions before the chunk, ascending */
  seen: Int32Array
  shares: Shares
  /** share of the Heavy of the chunk before, of all its sets together, that had to go; null where there was none */
  heavyTurnover: number | null
  /** overlap of all sets with those of the chunk before; null where there was none */
  chunkJaccard: number | null
  /** the least overlap of a set with the same one of another run; null until there was one */
  runJaccard: number | null
  rows: HeatRows
}

/** By column of the heat map: what is seen, and the largest score and share of dense mass (NaN: none). */
export interface HeatRows {
  kinds: KindRow
  /** null where the policy has no scores */
  score: Float32Array | null
  mass: Float32Array
}

/** A layer that H2O serves: not one with a window, or without attention. */
export interface LayerRecord {
  /** its number in the model */
  layer: number
  /** the chunks of each */
  heads: HeadChunk[][]
}

export interface RecordingOptions {
  /** L after clamping */
  local: number
  nSink: number
  columns: Columns
}

export class Recording {
  /** in the order of the model */
  readonly layers: LayerRecord[] = []
  readonly options: RecordingOptions

  constructor(options: RecordingOptions) {
    this.options = options
  }

  /** The trace of one call of the run that all figures are of. */
  add(entries: readonly H2oTraceEntry[]): void {
    for (const entry of entries) {
      let record = this.#find(entry)
      if (!record) {
        record = { layer: entry.layer, heads: Array.from({ length: entry.nHeads }, () => []) }
        this.layers.push(record)
      }
      for (const [head, chunks] of record.heads.entries()) {
        chunks.push(this.#headChunk(entry, head, chunks.at(-1)))
      }
    }
  }

  /** The trace of one call of another run of the same prompt. */
  compare(entries: readonly H2oTraceEntry[]): void {
    for (const entry of entries) {
      for (const [head, chunks] of (this.#find(entry)?.heads ?? []).entries()) {
        const chunk = chunks.find(({ pos }) => pos === entry.pos)
        if (!chunk) continue
        for (const [i, set] of setsOf(entry, head).entries()) {
          const overlap = jaccard(chunk.sets[i] ?? [], set)
          if (overlap !== null) chunk.runJaccard = Math.min(chunk.runJaccard ?? 1, overlap)
        }
      }
    }
  }

  #find({ layer }: H2oTraceEntry): LayerRecord | undefined {
    return this.layers.find((record) => record.layer === layer)
  }

  #headChunk(entry: H2oTraceEntry, head: number, previous: HeadChunk | undefined): HeadChunk {
    const { pos, nChunk: n, nNear } = entry
    const { local, columns } = this.options
    const sets = setsOf(entry, head)
    const masses = massesOf(entry, head)
    const seen = union([...sets, ...(nNear > 0 ? [range(pos - nNear, pos)] : [])])
    // together: which queries a block has is another choice in each chunk
    const members = union(sets)
    const before = previous && previous.sets.length > 0 ? union(previous.sets) : null
    return {
      pos,
      n,
      sets,
      seen,
      shares: combined(
        masses.map((mass, i) => ({
          shares: coverage(mass, pos, sets[i] ?? new Int32Array(), { ...this.options, nNear }),
          n: masses.length === 1 ? n : Math.min(BLOCK, n - i * BLOCK),
        })),
      ),
      heavyTurnover:
        previous && before
          ? turnover(heavyOf(before, previous.pos, local), heavyOf(members, pos, local))
          : null,
      chunkJaccard: before && jaccard(before, members),
      runJaccard: null,
      rows: {
        kinds: kindRow(columns, local, { pos, n, memory: seen, before: previous?.seen ?? null }),
        score: entry.chunkScore.length > 0 ? this.#scoreRow(entry, head, seen) : null,
        mass: this.#massRow(masses),
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

  /** Of all queries of the chunk. */
  #massRow(masses: readonly Float32Array[]): Float32Array {
    const mass = Float64Array.from(masses[0]?.keys() ?? [], (position) =>
      masses.reduce((all, part) => all + (part[position] as number), 0),
    )
    const total = mass.reduce((a, b) => a + b, 0)
    return this.options.columns.largest(mass.keys(), (position) => (mass[position] as number) / total)
  }
}

function setsOf(entry: H2oTraceEntry, head: number): Int32Array[] {
  return Array.from({ length: entry.nSets }, (_, set) => membersOf(entry, set * entry.nHeads + head))
}

/** Of the queries of each set; of all, where there is none. */
function massesOf({ mass, pos, nChunk, nHeads, nSets }: H2oTraceEntry, head: number): Float32Array[] {
  if (!mass) throw new Error('the trace has no mass')
  const length = pos + nChunk
  return Array.from({ length: Math.max(nSets, 1) }, (_, set) => {
    const at = (set * nHeads + head) * length
    return mass.subarray(at, at + length)
  })
}

function range(begin: number, end: number): Int32Array {
  return Int32Array.from({ length: end - begin }, (_, i) => begin + i)
}
